#include "platform/topology/read.h"

#include "platform/topology/contradictions.h"
#include "platform/topology/description.h"
#include "platform/topology/keys.h"
#include "platform/topology/names.h"
#include "platform/topology/part_keys.h"
#include "platform/topology/read_written.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace platform::topology {
namespace {

using Error = std::unexpected<std::string>;

/// Of "p2p.toml:12".
unsigned long line_of(const std::string& where) { return std::stoul(where.substr(where.rfind(':') + 1)); }

std::string_view table_of(std::string_view path) {
    return path.substr(0, path.rfind('.') == path.npos ? 0 : path.rfind('.'));
}

/// What an unknown path says about hosts: ": there is no host 'C', there are A and B", where it begins with a word that
/// is neither a table of keys nor nearly one. Empty: it is not about a host.
std::string missing_host(const Config& config, std::string_view path) {
    const auto word_of = [](std::string_view text) { return std::string(text.substr(0, text.find('.'))); };
    auto host = word_of(path);
    std::string_view before;
    if (host == "host" || host == "hosts") { // [host.A]
        before = "host.";
        host = host.size() + 1 < path.size() ? word_of(path.substr(host.size() + 1)) : std::string();
    }
    if (!path.contains('.') || !is_name(host) || is_thing(config, host))
        return {};
    std::vector<std::string> tables;
    for (const auto& key : keys())
        if (key.path.starts_with(before))
            tables.push_back(word_of(key.path.substr(before.size())));
    if (std::ranges::find(tables, host) != tables.end() || !did_you_mean(host, tables).empty())
        return {};
    return fmt::format(": there is no host '{}', there {}", host, which_hosts_there_are(config));
}

/// In the same table the name suffices.
std::string suggestion(const Config& config, std::string_view path) {
    if (auto hint = missing_host(config, path); !hint.empty())
        return hint;
    if (path.ends_with('.')) // a table
        path.remove_suffix(1);
    const auto nearest = nearest_key(path);
    if (nearest.empty())
        return "; `hcasim keys` lists all";
    const auto table = table_of(path);
    return fmt::format(", did you mean '{}'?",
                       !table.empty() && table_of(nearest) == table ? nearest.substr(table.size() + 1) : nearest);
}

bool is_table(std::string_view path) {
    for (const auto& key : keys())
        if (key.path.size() > path.size() && key.path.starts_with(path) && key.path[path.size()] == '.')
            return true;
    return false;
}

std::expected<void, std::string> assign(Config& config, const Key& key,
                                        const std::expected<Value, std::string>& value) {
    if (!value)
        return Error(value.error());
    if (const auto allowed = check(key, *value); !allowed)
        return Error(allowed.error());
    key.set(config, *value);
    return {};
}

/// Walks a table and sets what it names.
void take(Config& config, const toml::table& table, const std::string& prefix, std::vector<Fault>& faults) {
    for (const auto& [name, node] : table) {
        const auto path = prefix + std::string(name.str());
        const auto line = name.source().begin.line;
        const auto note = [&](std::string text) {
            faults.push_back({fmt::format("{}:{}", config.file, line), std::move(text)});
        };
        const auto* key = find_key(path);
        if (is_written(path))
            continue;
        if (prefix.empty() && node.is_table() && is_thing(config, path)) {
            take_exceptions(config, node, path, name.source(), faults);
            continue;
        }
        if (const auto* inner = node.as_table(); inner != nullptr && key == nullptr) {
            if (is_table(path))
                take(config, *inner, path + ".", faults);
            else
                note(fmt::format("unknown table '{}'{}", path, suggestion(config, path + ".")));
            continue;
        }
        if (key == nullptr) {
            note(is_table(path) ? fmt::format("'{}' is a table: write [{}]", path, path)
                                : fmt::format("unknown key '{}'{}", name.str(), suggestion(config, path)));
            continue;
        }
        const auto value = value_of(node);
        if (!value)
            note(fmt::format("'{}' wants {}, not a list, table or date", name.str(), name_of(key->kind)));
        else if (const auto done = assign(config, *key, convert(key->kind, *value)); !done)
            note(fmt::format("'{}' {}", name.str(), done.error()));
        else
            config.given.push_back({path, fmt::format("{}:{}", config.file, line)});
    }
}

/// A payload or a list that a file names lies beside that file, wherever the program was started.
void resolve_paths(Config& config) {
    for (auto* const named : {&config.scenario.payload, &config.traffic.replay})
        if (const std::filesystem::path path = *named; !path.empty() && path.is_relative())
            *named = (std::filesystem::path(config.file).parent_path() / path).string();
}

std::expected<void, std::string> override_key(Config& config, std::string_view text) {
    const auto equals = text.find('=');
    if (equals == text.npos || equals == 0)
        return Error(fmt::format("--set {}: wants KEY=VALUE", text));
    const auto path = text.substr(0, equals);
    const auto* key = find_key(path);
    if (key == nullptr && path.contains('.') && is_thing(config, path.substr(0, path.find('.')))) {
        config.exceptions.push_back(
            {std::string(path), value_of_word(text.substr(equals + 1)), fmt::format("--set {}", text)});
        return {};
    }
    if (key == nullptr) {
        const auto nearest = nearest_key(path);
        auto hint = missing_host(config, path);
        if (hint.empty())
            hint = nearest.empty() ? "; `hcasim keys` lists all" : fmt::format(", did you mean '{}'?", nearest);
        return Error(fmt::format("--set {}: unknown key '{}'{}", text, path, hint));
    }
    if (const auto done = assign(config, *key, parse(key->kind, text.substr(equals + 1))); !done)
        return Error(fmt::format("--set {}: '{}' {}", text, path, done.error()));
    config.given.push_back({std::string(path), "--set"});
    return {};
}

} // namespace

unsigned long too_deep(std::string_view text) {
    constexpr unsigned most_words = 256;
    unsigned words = 0;
    unsigned long line = 1;
    char last = '\0';
    for (const char c : text) {
        if (std::string_view("\n,=[]{}#").contains(c))
            words = 0;
        else if (c == '.' && last != '.' && ++words == most_words)
            return line;
        line += c == '\n' ? 1 : 0;
        last = c;
    }
    return 0;
}

std::expected<Config, std::string> parse_config(std::string_view text, std::string_view name,
                                                std::span<const std::string> overrides) {
    Config config;
    config.file = name;
    if (const auto line = too_deep(text); line != 0)
        return Error(fmt::format("{}:{}: a name of more than 256 words: no platform is so deep", name, line));
    std::vector<std::string> faults;
    try {
        const toml::table root = toml::parse(text, name);
        std::vector<Fault> found;
        take_written(config, root, found);
        take(config, root, "", found);
        std::ranges::stable_sort(found, {}, [](const Fault& fault) { return line_of(fault.where); });
        for (const auto& fault : found)
            faults.push_back(fmt::format("{}: {}", fault.where, fault.text));
        std::ranges::stable_sort(config.given, {}, [](const GivenKey& key) { return line_of(key.where); });
        std::ranges::stable_sort(config.exceptions, {}, [](const Setting& one) { return line_of(one.where); });
    } catch (const toml::parse_error& error) {
        faults.push_back(fmt::format("{}:{}: not TOML: {}", name, error.source().begin.line, error.description()));
    }
    resolve_paths(config);
    for (const auto& text_of_one : overrides)
        if (const auto done = override_key(config, text_of_one); !done)
            faults.push_back(done.error());
    config.hca.timed = config.link.timed = config.timed;
    config.hca.is_ethernet = config.link.encapsulation != model::port::Encapsulation::infiniband;
    if (faults.empty()) // contradictions are looked for only when each key is right by itself
        for (const auto& fault : contradictions(config))
            faults.push_back(fmt::format("{}: {}", name, fault));
    if (faults.empty()) // parts and cables are looked at last, since they need right keys
        if (const auto described = describe(config); !described)
            for (const auto& fault : described.error())
                faults.push_back(fmt::format("{}: {}", fault.where, fault.text));
    if (!faults.empty())
        return Error(fmt::format("{}", fmt::join(faults, "\n")));
    return config;
}

std::expected<Config, std::string> read_config(const std::string& file, std::span<const std::string> overrides) {
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    std::string text;
    constexpr std::size_t most_bytes = 4 << 20; // a device file may have no end
    for (std::array<char, 4096> part; stream.read(part.data(), part.size()) || stream.gcount() > 0;) {
        text.append(part.data(), static_cast<std::size_t>(stream.gcount()));
        if (text.size() > most_bytes)
            return Error(fmt::format("{}: is larger than {} MiB, no configuration is", file, most_bytes >> 20));
    }
    if (!stream.eof())
        return Error(fmt::format("{}: cannot be read: {}", file, std::strerror(errno != 0 ? errno : EIO)));
    return parse_config(text, file, overrides);
}

} // namespace platform::topology

#include "platform/topology/read.h"

#include "platform/topology/keys.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

namespace platform::topology {
namespace {

using Error = std::unexpected<std::string>;

struct Fault {
    std::uint32_t line;
    std::string text;
};

std::string_view table_of(std::string_view path) {
    return path.substr(0, path.rfind('.') == path.npos ? 0 : path.rfind('.'));
}

/// In the same table the name suffices.
std::string suggestion(std::string_view path) {
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

std::optional<Value> value_of(const toml::node& node) {
    if (const auto value = node.value_exact<bool>())
        return *value;
    if (const auto value = node.value_exact<std::int64_t>())
        return *value;
    if (const auto value = node.value_exact<double>())
        return *value;
    if (const auto value = node.value_exact<std::string>())
        return *value;
    return std::nullopt;
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

/// Walks a table and sets what it names; keeps the fault that stands first in the file.
void take(Config& config, const toml::table& table, const std::string& prefix, std::optional<Fault>& fault) {
    const auto note = [&](std::uint32_t line, std::string text) {
        if (!fault || line < fault->line)
            fault = Fault{line, std::move(text)};
    };
    for (const auto& [name, node] : table) {
        const auto path = prefix + std::string(name.str());
        const auto line = name.source().begin.line;
        const auto* key = find_key(path);
        if (const auto* inner = node.as_table(); inner != nullptr && key == nullptr) {
            if (is_table(path))
                take(config, *inner, path + ".", fault);
            else
                note(line, fmt::format("unknown table '{}'{}", path, suggestion(path)));
            continue;
        }
        if (key == nullptr) {
            note(line, is_table(path) ? fmt::format("'{}' is a table: write [{}]", path, path)
                                      : fmt::format("unknown key '{}'{}", name.str(), suggestion(path)));
            continue;
        }
        const auto value = value_of(node);
        if (!value) {
            note(line, fmt::format("'{}' wants {}, not a list, table or date", name.str(), name_of(key->kind)));
            continue;
        }
        if (const auto done = assign(config, *key, convert(key->kind, *value)); !done)
            note(line, fmt::format("'{}' {}", name.str(), done.error()));
    }
}

std::expected<void, std::string> override_key(Config& config, std::string_view text) {
    const auto equals = text.find('=');
    if (equals == text.npos || equals == 0)
        return Error(fmt::format("--set {}: wants KEY=VALUE", text));
    const auto path = text.substr(0, equals);
    const auto* key = find_key(path);
    if (key == nullptr) {
        const auto nearest = nearest_key(path);
        return Error(
            fmt::format("--set {}: unknown key '{}'{}", text, path,
                        nearest.empty() ? "; `hcasim keys` lists all" : fmt::format(", did you mean '{}'?", nearest)));
    }
    if (const auto done = assign(config, *key, parse(key->kind, text.substr(equals + 1))); !done)
        return Error(fmt::format("--set {}: '{}' {}", text, path, done.error()));
    return {};
}

/// What follows from more than one key.
std::expected<void, std::string> finish(Config& config) {
    config.hca.timed = config.link.timed = config.timed;
    config.hca.is_ethernet = config.link.encapsulation != model::port::Encapsulation::infiniband;
    if (config.scenario.message_bytes > 1ULL << config.hca.log_max_message)
        return Error(
            fmt::format("{}: 'scenario.message' is larger than the HCA's messages, 2^'hca.log_max_message' = {}",
                        config.file, print(Kind::size, std::int64_t{1} << config.hca.log_max_message)));
    if (config.scenario.queue_depth > 1U << config.hca.log_max_qp_size)
        return Error(fmt::format("{}: 'scenario.queue_depth' is larger than a send queue, 2^'hca.log_max_qp_size' = {}",
                                 config.file, 1U << config.hca.log_max_qp_size));
    if (config.scenario.queue_pairs > 1U << config.hca.log_max_qp)
        return Error(fmt::format("{}: 'scenario.qps' is larger than 2^'hca.log_max_qp' = {}", config.file,
                                 1U << config.hca.log_max_qp));
    if (config.fabric.has_switch && config.hca.is_ethernet)
        return Error(fmt::format("{}: 'fabric.switch' forwards by LIDs: 'link.encapsulation' has to be infiniband", config.file));
    if (config.fabric.is_managed && config.hca.is_ethernet)
        return Error(fmt::format("{}: 'fabric.managed': a RoCE port has no subnet manager; 'link.encapsulation' has to be infiniband", config.file));
    constexpr double least_rate = 0.001; // slower, a packet takes longer than any timer waits
    if (config.link.rate_gbps > 0 && config.link.rate_gbps < least_rate)
        return Error(fmt::format("{}: 'link.rate_gbps' = {} is neither 0 nor at least {}", config.file,
                                 config.link.rate_gbps, least_rate));
    return {};
}

} // namespace

std::expected<Config, std::string> parse_config(std::string_view text, std::string_view name,
                                                std::span<const std::string> overrides) {
    Config config;
    config.file = name;
    try {
        const toml::table root = toml::parse(text, name);
        std::optional<Fault> fault;
        take(config, root, "", fault);
        if (fault)
            return Error(fmt::format("{}:{}: {}", name, fault->line, fault->text));
    } catch (const toml::parse_error& error) {
        return Error(fmt::format("{}:{}: not TOML: {}", name, error.source().begin.line, error.description()));
    }
    for (const auto& text_of_one : overrides)
        if (const auto done = override_key(config, text_of_one); !done)
            return Error(done.error());
    if (const auto done = finish(config); !done)
        return Error(done.error());
    return config;
}

std::expected<Config, std::string> read_config(const std::string& file, std::span<const std::string> overrides) {
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    std::string text;
    for (std::array<char, 4096> part; stream.read(part.data(), part.size()) || stream.gcount() > 0;)
        text.append(part.data(), static_cast<std::size_t>(stream.gcount()));
    if (!stream.eof())
        return Error(fmt::format("{}: cannot be read: {}", file, std::strerror(errno != 0 ? errno : EIO)));
    return parse_config(text, file, overrides);
}

} // namespace platform::topology

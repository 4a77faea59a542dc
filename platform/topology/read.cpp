#include "platform/topology/read.h"

#include "platform/topology/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

namespace platform::topology {
namespace {

using Error = std::unexpected<std::string>;

struct Fault {
    std::uint32_t line;
    std::string text;
};

/// Of "p2p.toml:12".
unsigned long line_of(const std::string& where) { return std::stoul(where.substr(where.rfind(':') + 1)); }

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

/// Walks a table and sets what it names.
void take(Config& config, const toml::table& table, const std::string& prefix, std::vector<Fault>& faults) {
    for (const auto& [name, node] : table) {
        const auto path = prefix + std::string(name.str());
        const auto line = name.source().begin.line;
        const auto note = [&](std::string text) { faults.push_back({line, std::move(text)}); };
        const auto* key = find_key(path);
        if (const auto* inner = node.as_table(); inner != nullptr && key == nullptr) {
            if (is_table(path))
                take(config, *inner, path + ".", faults);
            else
                note(fmt::format("unknown table '{}'{}", path, suggestion(path)));
            continue;
        }
        if (key == nullptr) {
            note(is_table(path) ? fmt::format("'{}' is a table: write [{}]", path, path)
                                : fmt::format("unknown key '{}'{}", name.str(), suggestion(path)));
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

/// What a file names is beside it, wherever the program was started.
void resolve_payload(Config& config) {
    const std::filesystem::path payload = config.scenario.payload;
    if (!payload.empty() && payload.is_relative())
        config.scenario.payload = (std::filesystem::path(config.file).parent_path() / payload).string();
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
    config.given.push_back({std::string(path), "--set"});
    return {};
}

/// A cache whose sets are no power of two would have fewer entries than it was given.
void check_cache(std::vector<std::string>& faults, std::string_view entries_key, std::uint32_t entries,
                 std::string_view ways_key, std::uint32_t ways) {
    if (entries >= ways && (entries % ways != 0 || !std::has_single_bit(entries / ways)))
        faults.push_back(fmt::format("'{}' = {} is no power of two of sets of '{}' = {}; the next lower is {}",
                                     entries_key, entries, ways_key, ways, std::bit_floor(entries / ways) * ways));
}

/// What follows from more than one key.
std::vector<std::string> finish(Config& config) {
    config.hca.timed = config.link.timed = config.timed;
    config.hca.is_ethernet = config.link.encapsulation != model::port::Encapsulation::infiniband;
    std::vector<std::string> faults;
    if (config.scenario.message_bytes > 1ULL << config.hca.log_max_message)
        faults.push_back(
            fmt::format("'scenario.message' is larger than the HCA's messages, 2^'hca.log_max_message' = {}",
                        print(Kind::size, std::int64_t{1} << config.hca.log_max_message)));
    if (config.scenario.queue_depth > 1U << config.hca.log_max_qp_size)
        faults.push_back(fmt::format("'scenario.queue_depth' is larger than a send queue, 2^'hca.log_max_qp_size' = {}",
                                     1U << config.hca.log_max_qp_size));
    if (config.scenario.queue_pairs > 1U << config.hca.log_max_qp)
        faults.push_back(
            fmt::format("'scenario.qps' is larger than 2^'hca.log_max_qp' = {}", 1U << config.hca.log_max_qp));
    if (config.fabric.has_switch && config.hca.is_ethernet)
        faults.push_back("'fabric.switch' forwards by LIDs: 'link.encapsulation' has to be infiniband");
    if (config.fabric.is_managed && config.hca.is_ethernet)
        faults.push_back(
            "'fabric.managed': a RoCE port has no subnet manager; 'link.encapsulation' has to be infiniband");
    constexpr double least_rate = 0.001; // slower, a packet takes longer than any timer waits
    if (config.link.rate_gbps > 0 && config.link.rate_gbps < least_rate)
        faults.push_back(
            fmt::format("'link.rate_gbps' = {} is neither 0 nor at least {}", config.link.rate_gbps, least_rate));
    check_cache(faults, "hca.mkey_cache_entries", config.hca.mkey_cache_entries, "hca.cache_ways",
                config.hca.cache_ways);
    check_cache(faults, "hca.mtt_cache_entries", config.hca.mtt_cache_entries, "hca.cache_ways", config.hca.cache_ways);
    check_cache(faults, "hca.device_tlb_entries", config.hca_ats.entries, "hca.device_tlb_ways", config.hca_ats.ways);
    check_cache(faults, "iommu.iotlb_entries", config.iommu.unit.iotlb.entries, "iommu.iotlb_ways",
                config.iommu.unit.iotlb.ways);
    return faults;
}

} // namespace

std::expected<Config, std::string> parse_config(std::string_view text, std::string_view name,
                                                std::span<const std::string> overrides) {
    Config config;
    config.file = name;
    std::vector<std::string> faults;
    try {
        const toml::table root = toml::parse(text, name);
        std::vector<Fault> found;
        take(config, root, "", found);
        std::ranges::stable_sort(found, {}, &Fault::line);
        for (const auto& fault : found)
            faults.push_back(fmt::format("{}:{}: {}", name, fault.line, fault.text));
        std::ranges::stable_sort(config.given, {}, [](const GivenKey& key) { return line_of(key.where); });
    } catch (const toml::parse_error& error) {
        faults.push_back(fmt::format("{}:{}: not TOML: {}", name, error.source().begin.line, error.description()));
    }
    resolve_payload(config);
    for (const auto& text_of_one : overrides)
        if (const auto done = override_key(config, text_of_one); !done)
            faults.push_back(done.error());
    if (faults.empty()) // keys that contradict each other only when each is right
        for (const auto& fault : finish(config))
            faults.push_back(fmt::format("{}: {}", name, fault));
    if (!faults.empty())
        return Error(fmt::format("{}", fmt::join(faults, "\n")));
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

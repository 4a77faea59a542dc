#include "platform/topology/part_keys.h"

#include "platform/topology/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <variant>

namespace platform::topology {
namespace {

/// Short names that begin with `begin` are keys that begin with `key`; without a trailing dot it is the whole name.
struct Row {
    Thing thing;
    std::string_view begin, key;
};

constexpr std::array rows{
    Row{Thing::host, "memory", "host.A.memory"},
    Row{Thing::host, "acs", "host.acs"},
    Row{Thing::host, "peer_forwarding", "host.peer_forwarding"},
    Row{Thing::host, "iommu.", "iommu."},
    Row{Thing::pcie_switch, "pcie.", "pcie.upstream."},
    Row{Thing::hca, "pcie.", "pcie.device."},
    Row{Thing::hca, "", "hca."},
    Row{Thing::gpu, "pcie.", "pcie.device."},
    Row{Thing::device, "pcie.", "pcie.device."},
    Row{Thing::gpu, "", "gpu."},
    Row{Thing::cable, "", "link."},
    Row{Thing::fabric_switch, "ports", "fabric.switch_ports"},
    Row{Thing::fabric_switch, "latency_ns", "fabric.switch_latency_ns"},
};

/// Only hosts of a description have it, so it is no key of the pair.
const Key served{"served",
                 Kind::boolean,
                 {},
                 "its processor and memory are those of a vfio-user client",
                 [](Config& c, const Value& value) { c.hosts[0].is_served = std::get<bool>(value); },
                 [](const Config& c) -> Value { return c.hosts[0].is_served; }};

Kind kind_of(const model::pcie::Setting& setting) {
    constexpr std::array kinds{Kind::boolean, Kind::integer, Kind::size, Kind::time}; // in the order of the variant
    static_assert(kinds.size() == std::variant_size_v<decltype(setting.value)>);
    return kinds.at(setting.value.index());
}

void store(bool& at, const Value& value) { at = std::get<bool>(value); }
void store(std::uint32_t& at, const Value& value) { at = static_cast<std::uint32_t>(std::get<std::int64_t>(value)); }
void store(std::uint64_t& at, const Value& value) { at = static_cast<std::uint64_t>(std::get<std::int64_t>(value)); }
void store(model::port::Time& at, const Value& value) { at = model::port::Time{std::get<std::int64_t>(value)}; }

bool is_table(std::string_view text) { return text.empty() || text.back() == '.'; }

} // namespace

const Key* find_part_key(Thing thing, std::string_view name) {
    if (thing == Thing::host && name == served.path)
        return &served;
    for (const auto& row : rows) {
        if (row.thing != thing || (is_table(row.begin) ? !name.starts_with(row.begin) : name != row.begin))
            continue;
        const auto rest = is_table(row.begin) ? name.substr(row.begin.size()) : std::string_view{};
        if (const auto* key = find_key(std::string(row.key) + std::string(rest)))
            return key;
    }
    return nullptr;
}

std::vector<std::string> part_keys(Thing thing) {
    std::vector<std::string> names;
    for (const auto& row : rows) {
        if (row.thing != thing)
            continue;
        if (!is_table(row.begin))
            names.emplace_back(row.begin);
        else
            for (const auto& key : keys())
                if (key.path.starts_with(row.key))
                    names.push_back(std::string(row.begin) + std::string(key.path.substr(row.key.size())));
    }
    if (thing == Thing::host)
        names.emplace_back(served.path);
    return names;
}

Value value_of_word(std::string_view word) {
    for (const auto kind : {Kind::boolean, Kind::integer, Kind::number})
        if (auto value = parse(kind, word))
            return *value;
    return std::string(word);
}

std::expected<void, std::string> set_part_key(Config& config, Thing thing, std::string_view name, const Value& value) {
    const auto* key = find_part_key(thing, name);
    if (key == nullptr) {
        const auto known = part_keys(thing);
        if (known.empty())
            return std::unexpected(fmt::format("unknown key '{}': a root port has none", name));
        const auto meant = did_you_mean(name, known);
        return std::unexpected(fmt::format("unknown key '{}'{}", name,
                                           meant.empty() ? "; `hcasim keys` lists those of its class" : meant));
    }
    const auto converted = convert(key->kind, value);
    if (!converted)
        return std::unexpected(fmt::format("'{}' {}", name, converted.error()));
    if (const auto allowed = check(*key, *converted); !allowed)
        return std::unexpected(fmt::format("'{}' {}", name, allowed.error()));
    key->set(config, *converted);
    return {};
}

std::expected<void, std::string> set_device_key(card::DeviceConfig& device, std::string_view name, const Value& value) {
    const auto settings = device.settings();
    const auto found = std::ranges::find(settings, name, &model::pcie::Setting::name);
    if (found == settings.end()) {
        std::vector<std::string> known = part_keys(Thing::device);
        for (const auto& setting : settings)
            known.emplace_back(setting.name);
        return std::unexpected(
            fmt::format("unknown key '{}' of kind {}{}", name, device.kind().name, did_you_mean(name, known)));
    }
    const Key key{.path = found->name,
                  .kind = kind_of(*found),
                  .limits = {.minimum = static_cast<double>(found->minimum),
                             .maximum = static_cast<double>(found->maximum),
                             .is_power_of_two = found->is_power_of_two},
                  .help = found->help,
                  .set = nullptr,
                  .get = nullptr};
    const auto converted = convert(key.kind, value);
    if (!converted)
        return std::unexpected(fmt::format("'{}' {}", name, converted.error()));
    if (const auto allowed = check(key, *converted); !allowed)
        return std::unexpected(fmt::format("'{}' {}", name, allowed.error()));
    std::visit([&](auto* at) { store(*at, *converted); }, found->value);
    return {};
}

} // namespace platform::topology

#include "platform/topology/part_keys.h"

#include "platform/topology/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
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
    Row{Thing::host, "bar.", "host.bar."},
    Row{Thing::host, "post_ns", "host.post_ns"},
    Row{Thing::host, "poll_ns", "host.poll_ns"},
    Row{Thing::host, "store_ns", "host.store_ns"},
    Row{Thing::host, "interrupt_ns", "host.interrupt_ns"},
    Row{Thing::host, "llc", "host.llc"},
    Row{Thing::host, "llc_ways", "host.llc_ways"},
    Row{Thing::host, "ddio_ways", "host.ddio_ways"},
    Row{Thing::host, "llc_miss_ns", "host.llc_miss_ns"},
    Row{Thing::host, "iommu.", "iommu."},
    Row{Thing::pcie_switch, "pcie.", "pcie.upstream."},
    Row{Thing::hca, "pcie.", "pcie.device."},
    Row{Thing::hca, "simple.", "simple."},
    Row{Thing::hca, "", "hca."},
    Row{Thing::gpu, "pcie.", "pcie.device."},
    Row{Thing::device, "pcie.", "pcie.device."},
    Row{Thing::gpu, "", "gpu."},
    Row{Thing::cable, "", "link."},
    Row{Thing::fabric_switch, "ports", "fabric.switch_ports"},
    Row{Thing::fabric_switch, "latency_ns", "fabric.switch_latency_ns"},
    Row{Thing::fabric_switch, "hoq_life", "fabric.switch_hoq_life"},
    Row{Thing::fabric_switch, "vl_stall_count", "fabric.switch_vl_stall_count"},
    Row{Thing::fabric_switch, "buffer", "fabric.switch_buffer"},
    Row{Thing::fabric_switch, "alpha", "fabric.switch_alpha"},
    Row{Thing::fabric_switch, "pfc", "fabric.switch_pfc"},
    Row{Thing::fabric_switch, "headroom", "fabric.switch_headroom"},
    Row{Thing::fabric_switch, "ecn", "fabric.switch_ecn"},
    Row{Thing::fabric_switch, "ecn_min", "fabric.switch_ecn_min"},
    Row{Thing::fabric_switch, "ecn_max", "fabric.switch_ecn_max"},
    Row{Thing::fabric_switch, "ecn_probability", "fabric.switch_ecn_probability"},
};

/// Only hosts of a description have it, so it is no key of the pair.
const Key served{"served",
                 Kind::boolean,
                 {},
                 "its processor and memory are those of a vfio-user client",
                 [](Config& c, const Value& value) { c.hosts[0].is_served = std::get<bool>(value); },
                 [](const Config& c) -> Value { return c.hosts[0].is_served; }};

Kind kind_of(const model::pcie::Setting& setting) {
    // In the order of the variant.
    constexpr std::array kinds{Kind::boolean, Kind::integer, Kind::size, Kind::time, Kind::text};
    static_assert(kinds.size() == std::variant_size_v<decltype(setting.value)>);
    return kinds.at(setting.value.index());
}

void store(bool& at, const Value& value) { at = std::get<bool>(value); }
void store(std::uint32_t& at, const Value& value) { at = static_cast<std::uint32_t>(std::get<std::int64_t>(value)); }
void store(std::uint64_t& at, const Value& value) { at = static_cast<std::uint64_t>(std::get<std::int64_t>(value)); }
void store(model::port::Time& at, const Value& value) { at = model::port::Time{std::get<std::int64_t>(value)}; }
void store(std::string& at, const Value& value) { at = std::get<std::string>(value); }

/// What the value is without anybody's choice.
template <class T> Value value_of(const T& value) {
    if constexpr (std::is_same_v<T, model::port::Time>)
        return std::int64_t{value.count()};
    else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>)
        return value;
    else
        return static_cast<std::int64_t>(value);
}

Key key_of(const model::pcie::Setting& setting) {
    return {.path = setting.name,
            .kind = kind_of(setting),
            .limits = {.minimum = static_cast<double>(setting.minimum),
                       .maximum = static_cast<double>(setting.maximum),
                       .is_power_of_two = setting.is_power_of_two},
            .help = setting.help,
            .set = nullptr,
            .get = nullptr};
}

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
    const auto key = key_of(*found);
    const auto converted = convert(key.kind, value);
    if (!converted)
        return std::unexpected(fmt::format("'{}' {}", name, converted.error()));
    if (const auto allowed = check(key, *converted); !allowed)
        return std::unexpected(fmt::format("'{}' {}", name, allowed.error()));
    if (const auto* text = std::get_if<std::string>(&*converted); text != nullptr && found->fault != nullptr)
        if (const auto fault = found->fault(*text))
            return std::unexpected(fmt::format("'{}' {}", name, *fault));
    std::visit([&](auto* at) { store(*at, *converted); }, found->value);
    return {};
}

std::string print_device_keys() {
    std::string text;
    for (const auto& kind : card::kinds()) {
        card::DeviceConfig device(kind);
        const auto settings = device.settings();
        if (!settings.empty())
            text += fmt::format("\nA part of kind \"{}\", below its name or in its line:\n", kind.name);
        for (const auto& setting : settings) {
            const auto key = key_of(setting);
            const auto limits = print_limits(key);
            const auto value = print(key.kind, std::visit([](const auto* at) { return value_of(*at); }, setting.value));
            text += fmt::format("  {:<30} {}\n  {:<30} {}{}{}\n", key.path, key.help, "",
                                limits.empty() ? name_of(key.kind) : limits, value.empty() ? "" : "; default ", value);
        }
    }
    return text;
}

} // namespace platform::topology

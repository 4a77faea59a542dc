#include "testbench/hcasim/replay_bench.h"

#include "platform/record/functional_replay.h"
#include "platform/topology/description.h"
#include "platform/topology/device_config.h"
#include "platform/topology/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

namespace hcasim {

namespace codec = traces::codec;
namespace topology = platform::topology;
using Error = std::unexpected<std::string>;

namespace {

/// An interface of a trace, by its name: "A.root0.sw0.hca0", "A.root0.sw0.hca0.f1", "A.root0.sw0.hca0.port1".
struct InterfaceName {
    std::string_view part;
    unsigned number = 0; ///< of the function, or of the port from 1 on
};

std::optional<unsigned> number_behind(std::string_view text, std::string_view letters) {
    unsigned number = 0;
    if (!text.starts_with(letters))
        return std::nullopt;
    const auto* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + letters.size(), end, number);
    return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

InterfaceName name_of(const codec::Interface& interface) {
    const std::string_view name = interface.name;
    const auto dot = name.rfind('.');
    const auto last = dot == name.npos ? std::string_view() : name.substr(dot + 1);
    const bool is_port = interface.kind != codec::InterfaceKind::pcie;
    if (const auto number = number_behind(last, is_port ? "port" : "f"))
        return {name.substr(0, dot), *number};
    return {name, is_port ? 1u : 0u};
}

/// The interfaces of one part, by their numbers.
struct Found {
    std::map<unsigned, std::uint32_t> functions, ports;
};

using model::port::Encapsulation;
bool fits(codec::InterfaceKind kind, Encapsulation encapsulation) {
    return kind == (encapsulation == Encapsulation::infiniband ? codec::InterfaceKind::infiniband
                                                               : codec::InterfaceKind::ethernet);
}

/// The overrides that say nothing of how links cut accesses.
std::vector<std::string> without_link_sizes(std::span<const std::string> overrides) {
    std::vector<std::string> left;
    for (const auto& text : overrides) {
        const auto key = std::string_view(text).substr(0, text.find('='));
        if (!key.ends_with(".mps") && !key.ends_with(".mrrs"))
            left.push_back(text);
    }
    return left;
}

/// How a list of interfaces that must be whole is not: "function 0", "port 2".
std::optional<std::string> first_gap(const std::map<unsigned, std::uint32_t>& found, unsigned first, std::size_t count,
                                     std::string_view what) {
    for (unsigned i = 0; i < count; ++i)
        if (!found.contains(first + i))
            return fmt::format("{} {}", what, first + i);
    return std::nullopt;
}

/// Keys of settings that change something, and nothing in these devices, which are played without a host, a cable or
/// another device. What the recording cannot be read without is none of them.
std::vector<std::string> keys_without_reach(const codec::Head& head, std::string_view name,
                                            std::span<const std::string> overrides, const topology::Config& config,
                                            std::span<const RecordedPart> parts) {
    const auto key_of = [](std::string_view text) { return text.substr(0, text.find('=')); };
    std::vector<std::string> keys;
    for (const auto& text : overrides) {
        std::vector<std::string> others;
        for (const auto& other : overrides)
            if (key_of(other) != key_of(text))
                others.push_back(other);
        const auto without = topology::read_recorded(head.configuration, name, others);
        if (!without || topology::print_toml(without->config) == topology::print_toml(config))
            continue;
        const auto before = topology::describe(without->config).value(); // which read_recorded has tried
        const auto now = topology::describe(config).value();
        const auto is_reached = [&](const RecordedPart& part) {
            const auto at = before.find(part.path);
            return !at || !before.part(*at).is_card() ||
                   topology::device_config(without->config, before.part(*at)) != part.device ||
                   topology::tlp_sizes(before.hosts[at->host]) != topology::tlp_sizes(now.hosts[at->host]);
        };
        if (std::ranges::none_of(parts, is_reached) && std::ranges::find(keys, key_of(text)) == keys.end())
            keys.emplace_back(key_of(text));
    }
    return keys;
}

std::expected<RecordedPart, std::string> assemble(const topology::Config& config,
                                                  const topology::Description& description, const codec::Head& head,
                                                  const std::string& name, const Found& found) {
    const auto at = description.find(name);
    if (!at || !description.part(*at).is_card())
        return Error(fmt::format("'{}' was recorded, and is no device of its configuration", name));
    const auto& part = description.part(*at);
    RecordedPart made{
        .path = description.path_of(*at), .interfaces = {}, .device = topology::device_config(config, part)};
    const auto functions = made.device.functions().size();
    const auto ports = made.device.kind().network_ports;
    for (const auto& gap :
         {first_gap(found.functions, 0, functions, "function"), first_gap(found.ports, 1, ports, "port")})
        if (gap)
            return Error(fmt::format("'{}': {} was not recorded; a device is played with all of its links and ports "
                                     "(record it with --at {})",
                                     name, *gap, name));
    if (found.functions.size() > functions || found.ports.size() > ports)
        return Error(
            fmt::format("'{}': the recording has {} functions and {} ports of it; by this configuration it has "
                        "{} and {}",
                        name, found.functions.size(), found.ports.size(), functions, ports));
    for (const auto& [number, interface] : found.functions)
        made.interfaces.functions.push_back(interface);
    for (const auto& [number, interface] : found.ports) {
        const auto encapsulation = description.cables[part.hca().cable].link.encapsulation;
        if (!fits(head.interfaces[interface].kind, encapsulation))
            return Error(fmt::format("'{}': its port {} was recorded as {}; its cable carries something else by this "
                                     "configuration (link.encapsulation)",
                                     name, number, codec::name(head.interfaces[interface].kind)));
        made.interfaces.ports.push_back({interface, encapsulation});
    }
    return made;
}

} // namespace

bool has_configuration(const codec::Head& head) {
    std::string_view text = head.configuration;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        const auto begin = line.find_first_not_of(" \t\r");
        if (begin != line.npos && line[begin] != '#')
            return true;
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return false;
}

std::expected<ReplayBench, std::string> read_bench(const codec::Head& head, std::string_view name,
                                                   std::span<const std::string> overrides,
                                                   std::span<const std::string> wanted) {
    if (!has_configuration(head))
        return Error(fmt::format("{}: cannot be played: it has no configuration, as a log that `hcasim trace import "
                                 "--dump` has read, so that no device can be made that does as recorded; `hcasim "
                                 "trace show` reads it, and what --record or `trace import --roce` writes is played",
                                 name));
    auto recorded = topology::read_recorded(head.configuration, name, overrides);
    if (!recorded)
        return Error(recorded.error());
    const auto description = topology::describe(recorded->config).value(); // which read_recorded has tried
    std::vector<std::pair<std::string, Found>> found;                      // in the order of the trace
    for (std::uint32_t i = 0; i < head.interfaces.size(); ++i) {
        const auto& interface = head.interfaces[i];
        if (interface.kind == codec::InterfaceKind::events)
            continue;
        const auto [part, number] = name_of(interface);
        auto one = std::ranges::find(found, part, &std::pair<std::string, Found>::first);
        if (one == found.end())
            one = found.insert(found.end(), {std::string(part), {}});
        auto& numbers = interface.kind == codec::InterfaceKind::pcie ? one->second.functions : one->second.ports;
        if (!numbers.emplace(number, i).second)
            return Error(fmt::format("{}: two interfaces are called '{}'", name, interface.name));
    }
    std::vector<std::string> faults;
    std::vector<bool> is_wanted(found.size(), wanted.empty());
    for (const auto& text : wanted) {
        const auto at = description.find(text);
        const auto one =
            std::ranges::find_if(found, [&](const auto& entry) { return at && description.find(entry.first) == at; });
        if (one == found.end()) {
            std::vector<std::string> names;
            for (const auto& entry : found)
                names.push_back(entry.first);
            faults.push_back(fmt::format("{}: --at {}: was not recorded; the recording has {}", name, text,
                                         names.empty() ? "no device" : fmt::format("{}", fmt::join(names, ", "))));
        } else {
            is_wanted[static_cast<std::size_t>(one - found.begin())] = true;
        }
    }
    // The links as they were: all else as it is now, so that the same parts are there.
    const auto links = topology::read_recorded(head.configuration, name, without_link_sizes(overrides));
    const auto before = links ? topology::describe(links->config).value() : description;
    ReplayBench bench{.differences = std::move(recorded->differences), .parts = {}};
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (!is_wanted[i])
            continue;
        auto part = assemble(recorded->config, description, head, found[i].first, found[i].second);
        if (!part) {
            faults.push_back(fmt::format("{}: {}", name, part.error()));
            continue;
        }
        if (!part->device.kind().is_playable) {
            const auto why = fmt::format("{} is not played: programs ran on it, and a recording has what passed its "
                                         "ports",
                                         part->path);
            (wanted.empty() && found.size() > 1 ? bench.not_played : faults).push_back(why);
            continue;
        }
        const auto host = description.find(found[i].first)->host; // which assemble has found
        part->sizes = {topology::tlp_sizes(before.hosts[host]), topology::tlp_sizes(description.hosts[host])};
        bench.parts.push_back(std::move(*part));
    }
    if (found.empty())
        faults.push_back(fmt::format("{}: no device was recorded, only events", name));
    if (faults.empty())
        for (const auto& key : keys_without_reach(head, name, overrides, recorded->config, bench.parts))
            faults.push_back(fmt::format("{}: --set {}: changes nothing in {}: each device is played alone, without "
                                         "its host, cables and other devices",
                                         name, key,
                                         bench.parts.size() == 1 ? bench.parts[0].path : "the devices played"));
    if (!faults.empty())
        return Error(fmt::format("{}", fmt::join(faults, "\n")));
    return bench;
}

std::unique_ptr<model::pcie::Device> make_recorded(const platform::card::DeviceConfig& device,
                                                   const model::pcie::DevicePorts& ports,
                                                   const platform::card::DevicePlace& place) {
    return device.make(ports, place);
}

std::string_view name(ReplayMode mode) {
    constexpr std::array<std::string_view, 3> names{"strict", "untimed", "functional"};
    return names[static_cast<std::size_t>(mode)];
}

platform::record::Replay::Result play(codec::Reader& reader, const RecordedPart& part, ReplayMode mode,
                                      const MakeRecorded& make) {
    using platform::record::Replay;
    const auto run = [&](auto&& replay) {
        const auto device = make(part.device, replay.ports(), {.name = part.path, .events = {}});
        return replay.run(*device);
    };
    if (mode == ReplayMode::functional)
        return run(platform::record::FunctionalReplay(reader, part.interfaces));
    const auto how = mode == ReplayMode::strict ? Replay::Mode::strict : Replay::Mode::untimed;
    return run(Replay(reader, part.interfaces, how, part.sizes));
}

} // namespace hcasim

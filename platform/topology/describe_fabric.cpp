#include "platform/topology/builder.h"
#include "platform/topology/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>

namespace platform::topology {
namespace {

constexpr std::string_view one_to_one = "--", each_to_each = "><";
constexpr std::size_t last_lid = 0xbfff;             ///< of unicast LIDs, IBA 4.1.1
constexpr std::uint64_t switch_guid_offset = 0x1000; ///< from the first HCA's GUID, or behind the last one's

/// Cables that drew the same numbers would lose the same packets of their flows. So each draws numbers of its own,
/// which follow from its seed and its number; the first cable's seed stays as it is written.
std::uint64_t own_seed(std::uint64_t seed, std::size_t cable) {
    if (cable == 0)
        return seed;
    auto mixed = seed + cable * std::uint64_t{0x9e3779b97f4a7c15}; // splitmix64
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

/// Takes the port number off the end of "leaf0.3".
std::optional<unsigned> take_port(std::string_view& text) {
    const auto dot = text.rfind('.');
    if (dot == text.npos || dot == 0 || text[dot - 1] == '.' || dot + 1 == text.size())
        return std::nullopt;
    unsigned port = 0;
    const auto [end, error] = std::from_chars(text.data() + dot + 1, text.data() + text.size(), port);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    text = text.substr(0, dot);
    return port;
}

Names expand_end(std::string_view text) {
    const auto port = take_port(text);
    auto names = expand_each(text);
    if (names && port)
        for (auto& name : *names)
            name += fmt::format(".{}", *port);
    return names;
}

} // namespace

void Builder::build_fabric() {
    for (const auto& group : written_.switches) {
        const auto names = expand_name(group.names);
        if (!names) {
            add_fault(group.where, names.error());
            continue;
        }
        for (const auto& name : *names) {
            if (!take_name(name, group.where))
                return;
            auto& made = made_.switches.emplace_back();
            made.name = name;
            made.where = group.where;
            switch_settings_.push_back(group.settings);
        }
    }
    // Ports are given out while cables are plugged in, so their number comes first.
    std::vector<Setting> exceptions; // of ports alone, by the names of switches
    for (const auto& setting : config_.exceptions)
        if (const auto words = split_path(setting.path); words.size() == 2 && words[1] == "ports")
            exceptions.push_back({std::string(words.front()), setting.value, setting.where});
    for (std::size_t i = 0; i < made_.switches.size(); ++i) {
        auto settings = switch_settings_[i];
        for (const auto& setting : exceptions)
            if (is_same_name(setting.path, made_.switches[i].name))
                settings.push_back({"ports", setting.value, setting.where});
        made_.switches[i].ports = with(settings, Thing::fabric_switch, class_).fabric.switch_ports;
        made_.switches[i].cables.resize(made_.switches[i].ports + 1);
    }
    if (!faults_.empty())
        return; // a cable to a refused part would be reported as a second fault for one mistake
    for (const auto& line : written_.cables)
        add_cables(line);
    if (faults_.empty())
        give_ports();
    if (!faults_.empty())
        return;
    std::size_t without = 0;
    for (const auto& at : made_.hcas)
        if (const auto& hca = made_.part(at).hca(); made_.cables.empty() || hca.cable == made_.cables.size())
            if (without++ == 0)
                add_fault(made_.part(at).where,
                          fmt::format("{} has no cable: give it one in [fabric] cables", made_.name_of(at)));
    if (without > 1)
        faults_.back().text += fmt::format("; nor have {} others", without - 1);
    if (config_.hca.lid + made_.hcas.size() > last_lid + 1)
        add_fault(config_.file, fmt::format("{} HCAs are more than there are addresses: LIDs end at {}",
                                            made_.hcas.size(), last_lid));
}

void Builder::add_cables(const WrittenCables& line) {
    const auto refuse = [&](std::string text) { add_fault(line.where, std::move(text)); };
    const std::string_view text = line.ends;
    const auto mark = std::min(text.find(one_to_one), text.find(each_to_each));
    const auto from_text = trim(text.substr(0, mark));
    const auto to_text = mark == text.npos ? std::string_view{} : trim(text.substr(mark + 2));
    if (from_text.empty() || to_text.empty())
        return refuse(fmt::format("'{}' is a cable with one end: write as in \"A.hca0 -- B.hca0\"", text));
    if (to_text.contains(one_to_one) || to_text.contains(each_to_each))
        return refuse(fmt::format("'{}' is a cable with more than two ends: write one for each pair", text));
    const auto from = expand_end(from_text), to = expand_end(to_text);
    if (!from || !to)
        return refuse(!from ? from.error() : to.error());
    std::vector<std::pair<std::string, std::string>> pairs;
    if (text.substr(mark, 2) == each_to_each) {
        if (from->size() * to->size() > most_names)
            return refuse(
                fmt::format("'{}' stands for {} cables, more than {}", text, from->size() * to->size(), most_names));
        for (const auto& one : *from)
            for (const auto& other : *to)
                pairs.emplace_back(one, other);
    } else {
        const auto count = std::max(from->size(), to->size());
        if (count % from->size() != 0 || count % to->size() != 0)
            return refuse(fmt::format("'{}': {} ends and {} ends cannot be paired; each with each is written {}", text,
                                      from->size(), to->size(), each_to_each));
        for (std::size_t i = 0; i < count; ++i)
            pairs.emplace_back((*from)[i * from->size() / count], (*to)[i * to->size() / count]);
    }
    Names names = std::vector<std::string>{};
    if (!line.names.empty()) {
        names = expand_name(line.names);
        if (!names)
            return refuse(names.error());
        if (names->size() != pairs.size())
            return refuse(fmt::format("{} names for {} cables", names->size(), pairs.size()));
    }
    const auto before = faults_.size();
    for (std::size_t i = 0; i < pairs.size() && faults_.size() == before; ++i) // one mistake, one fault
        add_cable(line, names->empty() ? fmt::format("cable{}", made_.cables.size()) : (*names)[i], pairs[i].first,
                  pairs[i].second);
}

void Builder::add_cable(const WrittenCables& line, std::string name, const std::string& from, const std::string& to) {
    const auto first = find_end(from, line.where), second = find_end(to, line.where);
    if (!first || !second || !take_name(name, line.where))
        return;
    Cable cable{.name = std::move(name), .link = {}, .ends = {*first, *second}, .where = line.where};
    const bool is_loop = first->is_switch == second->is_switch &&
                         (first->is_switch ? first->fabric_switch == second->fabric_switch
                                           : first->host == second->host && first->part == second->part);
    if (is_loop)
        return add_fault(line.where, fmt::format("a cable from {} to itself is a loop", from));
    made_.cables.push_back(std::move(cable));
    cable_settings_.push_back(line.settings);
}

std::optional<CableEnd> Builder::find_end(const std::string& text, const std::string& where) {
    const auto refuse = [&](std::string why) {
        add_fault(where, std::move(why));
        return std::nullopt;
    };
    std::string_view name = text;
    const auto port = take_port(name);
    for (std::size_t i = 0; i < made_.switches.size(); ++i) {
        if (!is_same_name(made_.switches[i].name, name))
            continue;
        if (port && (*port == 0 || *port > made_.switches[i].ports))
            return refuse(
                fmt::format("'{}': {} has the ports 1 to {}", text, made_.switches[i].name, made_.switches[i].ports));
        return CableEnd{.is_switch = true, .fabric_switch = i, .port = port.value_or(0)};
    }
    const auto words = split_path(text);
    const auto host = made_.find_host(words.front());
    if (!host) {
        std::vector<std::string> known;
        for (const auto& one : made_.hosts)
            known.push_back(one.name);
        for (const auto& one : made_.switches)
            known.push_back(one.name);
        return refuse(fmt::format("a cable to nothing: there is no host or switch '{}'{}", words.front(),
                                  did_you_mean(words.front(), known)));
    }
    if (words.size() == 1)
        return refuse(
            fmt::format("a cable ends at an HCA or a switch: '{}' is a host; write as in {}.hca0", text, text));
    const auto at = made_.find(text);
    if (!at)
        return refuse(fmt::format("a cable to nothing: {}", no_such_part(*host, words.back())));
    if (made_.part(*at).kind != PartKind::hca)
        return refuse(fmt::format("a cable ends at an HCA or a switch, '{}' is neither", text));
    return CableEnd{.host = at->host, .part = at->part};
}

/// Plugs all cables in: first those that name a port, then the others into the next free one.
void Builder::give_ports() {
    for (const auto& at : made_.hcas)
        std::get<HcaPart>(made_.hosts[at.host].parts[at.part].device).cable = made_.cables.size();
    for (const bool is_named : {true, false})
        for (std::size_t i = 0; i < made_.cables.size(); ++i)
            for (unsigned end = 0; end < 2; ++end)
                if (auto& one = made_.cables[i].ends[end]; (!one.is_switch || one.port != 0) == is_named)
                    if (!plug(one, i, end))
                        return;
}

bool Builder::plug(CableEnd& end, std::size_t number, unsigned end_number) {
    const auto& cable = made_.cables[number];
    if (!end.is_switch) {
        auto& hca = std::get<HcaPart>(made_.hosts[end.host].parts[end.part].device);
        if (hca.cable != made_.cables.size()) {
            add_fault(cable.where, fmt::format("{} has one port, and {} is in it ({})", made_.name_of(end),
                                               made_.cables[hca.cable].name, made_.cables[hca.cable].where));
            return false;
        }
        hca.cable = number;
        hca.end = end_number;
        return true;
    }
    auto& at = made_.switches[end.fabric_switch];
    if (end.port == 0) {
        const auto free = std::find(at.cables.begin() + 1, at.cables.end(), std::nullopt);
        if (free == at.cables.end()) {
            add_fault(cable.where, fmt::format("no port of {} is left for {}: it has {}; write as in {{ name = \"{}\", "
                                               "ports = {} }}",
                                               at.name, cable.name, at.ports, at.name, at.ports + 1));
            return false;
        }
        end.port = static_cast<unsigned>(free - at.cables.begin());
    }
    if (auto& there = at.cables[end.port]; there && *there != number) {
        add_fault(cable.where, fmt::format("port {} of {} is taken by {} ({})", end.port, at.name,
                                           made_.cables[*there].name, made_.cables[*there].where));
        return false;
    } else {
        there = number;
    }
    return true;
}

void Builder::configure_fabric() {
    for (std::size_t i = 0; i < made_.cables.size(); ++i) {
        auto& cable = made_.cables[i];
        cable.link = with(cable_settings_[i], Thing::cable, class_).link;
        cable.link.timed = config_.timed;
        cable.link.seed = own_seed(cable.link.seed, i);
        for (const auto& end : cable.ends) {
            if (!end.is_switch) {
                auto& hca = std::get<HcaPart>(made_.hosts[end.host].parts[end.part].device);
                hca.core.is_ethernet = cable.link.encapsulation != model::port::Encapsulation::infiniband;
                hca.core.port_rate_gbps = cable.link.rate_gbps;
                continue;
            }
            auto& at = made_.switches[end.fabric_switch];
            const bool is_first = at.rate_gbps == 0;
            const bool is_ethernet = cable.link.encapsulation != model::port::Encapsulation::infiniband;
            at.rate_gbps = std::max(at.rate_gbps, cable.link.rate_gbps);
            if (!is_first && is_ethernet != at.is_ethernet)
                return add_fault(cable.where.empty() ? at.where : cable.where,
                                 fmt::format("{} has cables of both kinds: 'link.encapsulation' of {} has to be {}",
                                             at.name, cable.name, at.is_ethernet ? "roce_v2" : "infiniband"));
            at.is_ethernet = is_ethernet;
        }
    }
    const auto guid_offset = std::max(switch_guid_offset, std::bit_ceil(std::uint64_t{made_.hcas.size()}));
    for (std::size_t i = 0; i < made_.switches.size(); ++i) {
        auto& at = made_.switches[i];
        const auto config = with(switch_settings_[i], Thing::fabric_switch, class_);
        at.latency = config.fabric.switch_latency;
        at.lifetime = config.fabric.lifetime;
        at.is_managed = config_.fabric.is_managed && !at.is_ethernet;
        at.buffer = config.fabric.buffer;
        at.buffer.seed = own_seed(config_.link.seed, i);
        at.guid = config_.hca.node_guid + guid_offset + i;
        if (at.is_ethernet && at.buffer.has_pfc && at.buffer.headroom * at.ports >= at.buffer.bytes)
            return add_fault(
                at.where.empty() ? config_.file : at.where,
                fmt::format("'fabric.switch_headroom' = {} of each of the {} ports of {} leaves nothing of "
                            "'fabric.switch_buffer' = {} to share: choose less than {} bytes of headroom, "
                            "or more than {} of buffer",
                            at.buffer.headroom, at.ports, at.name, at.buffer.bytes,
                            (at.buffer.bytes + at.ports - 1) / at.ports, at.buffer.headroom * at.ports));
    }
}

} // namespace platform::topology

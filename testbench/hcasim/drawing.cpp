#include "testbench/hcasim/drawing.h"

#include "testbench/program/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim {
namespace {

using namespace platform::topology;

constexpr std::size_t link_column = 44, facts_column = 56;

std::string_view name_of(model::port::Encapsulation encapsulation) {
    switch (encapsulation) {
    case model::port::Encapsulation::roce_v2_ipv4: return "RoCEv2 over IPv4";
    case model::port::Encapsulation::roce_v2_ipv6: return "RoCEv2 over IPv6";
    case model::port::Encapsulation::infiniband: return "InfiniBand";
    }
    return "";
}

std::string print_rate(double gbps) { return gbps > 0 ? fmt::format("{:g} Gbit/s", gbps) : "any rate"; }

std::string trimmed(std::string line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

/// What is plugged into `parent`, by slot.
std::vector<std::size_t> children(const DescribedHost& host, std::optional<std::size_t> parent) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < host.parts.size(); ++i)
        if (host.parts[i].parent == parent)
            found.push_back(i);
    std::ranges::sort(found, {}, [&](std::size_t i) { return host.parts[i].slot; });
    return found;
}

void append_tree(std::string& text, const DescribedHost& host, std::optional<std::size_t> parent,
                 const std::string& indent) {
    const auto below = children(host, parent);
    for (const auto i : below) {
        const auto& part = host.parts[i];
        const bool is_last = i == below.back();
        const auto link = part.kind == PartKind::root_port ? std::string{} : print_link(part.link);
        text +=
            trimmed(fmt::format("{:<{}} {:<{}} {}", fmt::format("{}{} {}", indent, is_last ? "`--" : "|--", part.name),
                                link_column, link, facts_column - link_column - 1, print_facts(part))) +
            "\n";
        append_tree(text, host, i, indent + (is_last ? "    " : "|   "));
    }
}

/// All of a host but its name and its addresses.
std::string draw_host(const DescribedHost& host) {
    auto text = fmt::format("  root complex -- DRAM {}{}{}{}\n", print_bytes(host.memory.memory_bytes),
                            host.iommu.is_present ? ", remapping unit" : "",
                            host.peers.acs != AcsMode::off ? ", ACS " + std::string(to_string(host.peers.acs)) : "",
                            host.is_served ? ", served" : "");
    append_tree(text, host, std::nullopt, "  ");
    return text;
}

/// "hosts A to D, F: 5 alike"
std::string print_hosts(const std::vector<const DescribedHost*>& alike) {
    if (alike.size() == 1)
        return fmt::format("host {}", alike.front()->name);
    const bool is_short = alike.size() <= 3;
    std::string names;
    for (std::size_t i = 0; i < alike.size();) {
        auto last = i; // of those that stand one behind the other among all hosts
        while (!is_short && last + 1 < alike.size() && alike[last + 1] == alike[last] + 1)
            ++last;
        if (!names.empty())
            names += is_short ? " " : ", ";
        names += last == i ? alike[i]->name : fmt::format("{} to {}", alike[i]->name, alike[last]->name);
        i = last + 1;
    }
    return fmt::format("hosts {}: {} alike", names, alike.size());
}

/// A port of a switch, or an HCA of a direct cable.
struct Row {
    unsigned port;
    std::string cable, to, link;
    std::string like;                  ///< what must be the same in rows that are shown as one
    std::size_t number = 0, other = 0; ///< of the cable, and of the host or switch at its other end
};

void append_rows(std::string& text, const std::vector<Row>& rows) {
    struct Line {
        std::string ports, cables, to, link;
    };
    std::vector<Line> lines;
    for (std::size_t i = 0; i < rows.size();) {
        auto last = i;
        while (last + 1 < rows.size() && rows[last + 1].like == rows[i].like &&
               rows[last + 1].port == rows[last].port + 1 && rows[last + 1].other == rows[last].other + 1 &&
               rows[last + 1].number - rows[last].number == rows[i + 1].number - rows[i].number)
            ++last;
        if (last - i < 2) // two lines are as short as one with a note
            last = i;
        const auto& from = rows[i];
        const auto& to = rows[last];
        if (last == i)
            lines.push_back({std::to_string(from.port), from.cable, from.to, from.link});
        else
            lines.push_back({fmt::format("{}..{}", from.port, to.port),
                             from.cable + (to.number - from.number == last - i ? " to " : ", ... ") + to.cable,
                             fmt::format("{} to {}", from.to, to.to),
                             fmt::format("{} ({} cables)", from.link, last - i + 1)});
        i = last + 1;
    }
    std::size_t cables = 18, others = 22;
    for (const auto& line : lines)
        cables = std::max(cables, line.cables.size()), others = std::max(others, line.to.size());
    for (const auto& line : lines)
        text += fmt::format("  {:>7}  {:<{}} {:<{}} {}\n", line.ports, line.cables, cables, line.to, others, line.link);
}

void append_switch(std::string& text, const Description& platform, const FabricSwitch& at) {
    std::vector<Row> rows;
    for (unsigned port = 1; port <= at.ports; ++port) {
        if (!at.cables[port])
            continue;
        const auto& cable = platform.cables[*at.cables[port]];
        const auto& first = cable.ends[0];
        const bool is_first = first.is_switch && &platform.switches[first.fabric_switch] == &at && first.port == port;
        const auto& other = cable.ends[is_first ? 1 : 0];
        const auto link = print_cable(cable.link);
        // Cables to the same port of switches that follow each other, or to the same part of such hosts.
        rows.push_back(
            {port, cable.name, platform.name_of(other), link,
             (other.is_switch ? fmt::format("port {} ", other.port) : platform.part({other.host, other.part}).path) +
                 link,
             *at.cables[port], other.is_switch ? other.fabric_switch : other.host});
    }
    text += fmt::format("  {}, {} of {} ports, {}{}\n", at.name, rows.size(), at.ports, print_time(at.latency.count()),
                        at.is_managed ? ", waits for a subnet manager" : "");
    append_rows(text, rows);
}

void append_direct(std::string& text, const Description& platform) {
    for (const auto& cable : platform.cables)
        if (!cable.ends[0].is_switch && !cable.ends[1].is_switch)
            text += fmt::format("  {} === {}: {} === {}\n", platform.name_of(cable.ends[0]), cable.name,
                                print_cable(cable.link), platform.name_of(cable.ends[1]));
}

} // namespace

std::string print_link(const PcieLinkConfig& link) { return fmt::format("Gen{} x{}", link.generation, link.width); }

std::string print_cable(const model::net::LinkConfig& link) {
    return fmt::format("{}, {}, {}", name_of(link.encapsulation), print_rate(link.rate_gbps),
                       print_time(link.latency.count()));
}

std::string print_facts(const Part& part) {
    if (part.kind == PartKind::gpu)
        return "VRAM " + print_bytes(part.gpu().vram_bytes);
    if (part.kind == PartKind::device)
        return std::string(part.other().kind().name);
    if (part.kind == PartKind::hca && part.hca().model != platform::topology::HcaModel::connectx)
        return std::string(to_string(part.hca().model));
    return {};
}

std::string draw_text(const Description& platform) {
    std::string text;
    std::map<std::string, std::vector<const DescribedHost*>> alike; // by what is drawn of them
    std::vector<const std::string*> drawings;                       // of each host
    for (const auto& host : platform.hosts) {
        const auto group = alike.try_emplace(draw_host(host)).first;
        group->second.push_back(&host);
        drawings.push_back(&group->first);
    }
    for (std::size_t i = 0; i < platform.hosts.size(); ++i)
        if (const auto& hosts = alike.at(*drawings[i]); hosts.front() == &platform.hosts[i])
            text += fmt::format("{}\n{}\n", print_hosts(hosts), *drawings[i]);
    text += fmt::format("fabric: {} HCA{}, {} cable{}, {} switch{}\n", platform.hcas.size(),
                        platform.hcas.size() == 1 ? "" : "s", platform.cables.size(),
                        platform.cables.size() == 1 ? "" : "s", platform.switches.size(),
                        platform.switches.size() == 1 ? "" : "es");
    for (const auto& at : platform.switches)
        append_switch(text, platform, at);
    append_direct(text, platform);
    return text;
}

} // namespace hcasim

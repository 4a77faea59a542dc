#include "platform/ranks/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace platform::ranks {

using model::port::Time;
using topology::Config;
using topology::Description;

namespace {

/// The switch that a host's first cable to one leads to.
std::vector<std::optional<std::size_t>> leaves_of(const Description& described) {
    std::vector<std::optional<std::size_t>> leaves(described.hosts.size());
    for (const auto& cable : described.cables)
        for (unsigned i = 0; i < 2; ++i) {
            const auto &here = cable.ends[i], &there = cable.ends[1 - i];
            if (!here.is_switch && there.is_switch && !leaves[here.host])
                leaves[here.host] = there.fabric_switch;
        }
    return leaves;
}

std::expected<void, std::string> look_at(const Config& config, const Description& described, unsigned ranks) {
    const auto refuse = [&](std::string_view what) {
        return std::unexpected(fmt::format("{}: cannot be run by {} processes: {}", config.file, ranks, what));
    };
    if (ranks > described.hosts.size())
        return refuse(fmt::format("it has {} hosts, and each process needs one; use at most so many processes",
                                  described.hosts.size()));
    if (!config.timed)
        return refuse("nothing takes time (timed = false), so that no part can go on by itself; leave that out");
    if (const auto served = std::ranges::find(described.hosts, true, &topology::DescribedHost::is_served);
        served != described.hosts.end())
        return refuse(fmt::format("host {} is served; use one process", served->name));
    if (!described.failures.empty())
        return refuse("[[failures]] change the tables of all switches at once; leave them out, or use one process");
    if (config.observe.has_ownership)
        return refuse("the detector of stale mappings (observe.ownership) looks at all hosts; leave it out, or use one "
                      "process");
    return {};
}

} // namespace

std::expected<Partition, std::string> Partition::make(const Config& config, const Description& described,
                                                      unsigned ranks) {
    if (const auto done = look_at(config, described, ranks); !done)
        return std::unexpected(done.error());
    Partition made;
    made.ranks_ = ranks;
    const auto hosts = described.hosts.size();
    const auto leaves = leaves_of(described);
    std::map<std::optional<std::size_t>, std::vector<std::size_t>> groups; // hosts by their switch
    for (std::size_t host = 0; host < hosts; ++host)
        groups[leaves[host]].push_back(host);
    // In the order of their first hosts, the groups fill one process after the other.
    std::vector<const std::vector<std::size_t>*> in_order;
    for (const auto& [leaf, members] : groups)
        in_order.push_back(&members);
    std::ranges::sort(in_order, {}, [](const auto* group) { return group->front(); });
    const bool are_groups_kept = in_order.size() >= ranks && !groups.contains(std::nullopt);
    made.hosts_.resize(hosts);
    for (std::size_t group = 0; group < in_order.size(); ++group)
        for (const auto host : *in_order[group])
            made.hosts_[host] =
                static_cast<unsigned>(are_groups_kept ? group * ranks / in_order.size() : host * ranks / hosts);
    unsigned turn = 0;
    for (std::size_t number = 0; number < described.switches.size(); ++number) {
        const auto members = groups.find(number);
        // Where hosts of several processes are at a switch, it is where the first of them is.
        made.switches_.push_back(members != groups.end() ? made.hosts_[members->second.front()] : turn++ % ranks);
    }
    for (std::size_t number = 0; number < described.cables.size(); ++number) {
        const auto& cable = described.cables[number];
        const CutCable cut{number, {made.rank_of(cable.ends[0]), made.rank_of(cable.ends[1])}};
        if (cut.ranks[0] == cut.ranks[1])
            continue;
        const auto apart = cable.link.latency - cable.link.early() - Time{1};
        const auto refuse = [&](std::string_view what) {
            return std::unexpected(fmt::format("{}: cable {}, whose ends are in processes {} and {} of {}, {}",
                                               cable.where.empty() ? config.file : cable.where, cable.name,
                                               cut.ranks[0], cut.ranks[1], ranks, what));
        };
        if (apart <= Time{})
            return refuse("has no latency, for which its ends could go on apart; give it some by link.latency_ns, or "
                          "use fewer processes");
        if (cable.link.reorder > 0)
            return refuse("changes the order of packets when they arrive; leave link.reorder out, or use one process");
        made.lookahead_ = std::min(made.lookahead_, apart);
        made.cut_.push_back(cut);
    }
    return made;
}

bool Partition::is_said_by(const Description& described, std::string_view component, unsigned rank) const {
    const auto named = [&](const auto& all) {
        return std::ranges::find(all, component, [](const auto& one) { return std::string_view(one.name); });
    };
    if (named(described.cables) != described.cables.end())
        return true;
    if (const auto found = named(described.switches); found != described.switches.end())
        return switches_[static_cast<std::size_t>(found - described.switches.begin())] == rank;
    const auto host = described.find_host(component.substr(0, component.find('.')));
    return host && hosts_[*host] == rank;
}

} // namespace platform::ranks

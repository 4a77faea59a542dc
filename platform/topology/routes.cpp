#include "platform/topology/routes.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>

namespace platform::topology {
namespace {

constexpr auto unreached = std::numeric_limits<std::size_t>::max();

/// The switch at the other end of the cable in a port.
struct Neighbour {
    std::size_t fabric_switch;
    unsigned port;      ///< of ours
    unsigned there = 0; ///< of the other
};

using Graph = std::vector<std::vector<Neighbour>>; ///< by switch, in the order of ports

const CableEnd& other_end(const Description& platform, std::size_t cable, std::size_t fabric_switch, unsigned port) {
    const auto& ends = platform.cables[cable].ends;
    const bool is_first = ends[0].is_switch && ends[0].fabric_switch == fabric_switch && ends[0].port == port;
    return ends[is_first ? 1 : 0];
}

bool works(const std::vector<bool>& is_dead, std::size_t cable) { return is_dead.empty() || !is_dead[cable]; }

Graph graph_of(const Description& platform, const std::vector<bool>& is_dead) {
    Graph graph(platform.switches.size());
    for (std::size_t i = 0; i < platform.switches.size(); ++i)
        for (unsigned port = 1; port <= platform.switches[i].ports; ++port)
            if (const auto cable = platform.switches[i].cables[port]; cable && works(is_dead, *cable))
                if (const auto& end = other_end(platform, *cable, i, port); end.is_switch)
                    graph[i].push_back({end.fabric_switch, port, end.port});
    return graph;
}

/// By how many cables each switch is away from `from`.
std::vector<std::size_t> distances(const Graph& graph, std::size_t from) {
    std::vector<std::size_t> distance(graph.size(), unreached), waiting{from};
    distance[from] = 0;
    for (std::size_t i = 0; i < waiting.size(); ++i)
        for (const auto& next : graph[waiting[i]])
            if (distance[next.fabric_switch] == unreached) {
                distance[next.fabric_switch] = distance[waiting[i]] + 1;
                waiting.push_back(next.fabric_switch);
            }
    return distance;
}

/// The switch that an HCA is at, and the port there.
std::optional<Neighbour> switch_of(const Description& platform, const PartAt& at) {
    const auto& hca = platform.part(at).hca();
    const auto& end = platform.cables[hca.cable].ends[1 - hca.end];
    return end.is_switch ? std::optional(Neighbour{end.fabric_switch, end.port}) : std::nullopt;
}

/// Cables between switches that close a circle carry no multicast, nor do those that do not work. `all`: with these.
void cut_circles(const Graph& all, const Graph& graph, std::vector<SwitchRoutes>& routes) {
    for (std::size_t i = 0; i < all.size(); ++i)
        for (const auto& next : all[i])
            routes[i].groups &= ~(std::uint64_t{1} << next.port);
    std::vector<bool> is_in(graph.size());
    for (std::size_t root = 0; root < graph.size(); ++root) {
        if (is_in[root])
            continue;
        is_in[root] = true;
        std::vector<std::size_t> waiting{root};
        for (std::size_t i = 0; i < waiting.size(); ++i)
            for (const auto& next : graph[waiting[i]]) {
                if (is_in[next.fabric_switch])
                    continue;
                is_in[next.fabric_switch] = true;
                waiting.push_back(next.fabric_switch);
                routes[waiting[i]].groups |= std::uint64_t{1} << next.port;
                routes[next.fabric_switch].groups |= std::uint64_t{1} << next.there;
            }
    }
}

/// By switch: the ports that lead to one switch.
using Ports = std::vector<std::vector<std::uint8_t>>;

/// By the fewest switches.
Ports minimal_ways(const Graph& graph, std::size_t to) {
    const auto distance = distances(graph, to);
    Ports ways(graph.size());
    for (std::size_t i = 0; i < graph.size(); ++i)
        for (const auto& next : graph[i])
            if (distance[i] != unreached && distance[next.fabric_switch] + 1 == distance[i])
                ways[i].push_back(static_cast<std::uint8_t>(next.port));
    return ways;
}

/// The order of switches in which a cable leads up to the one that is first: by their distance from a root, which is in
/// the middle of those that are connected, then by number (Schroeder et al., "Autonet: a high-speed, self-configuring
/// local area network using point-to-point links", 1991).
std::vector<std::size_t> ranks(const Graph& graph) {
    std::vector<std::size_t> eccentricity(graph.size());
    for (std::size_t i = 0; i < graph.size(); ++i)
        for (const auto distance : distances(graph, i))
            if (distance != unreached)
                eccentricity[i] = std::max(eccentricity[i], distance);
    std::vector<std::size_t> by_eccentricity(graph.size()), level(graph.size(), unreached);
    std::iota(by_eccentricity.begin(), by_eccentricity.end(), std::size_t{0});
    std::ranges::stable_sort(by_eccentricity, {}, [&](std::size_t i) { return eccentricity[i]; });
    for (const auto root : by_eccentricity) {
        if (level[root] != unreached)
            continue;
        const auto distance = distances(graph, root);
        for (std::size_t i = 0; i < graph.size(); ++i)
            level[i] = std::min(level[i], distance[i]);
    }
    std::vector<std::size_t> order(graph.size()), rank(graph.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return level[i]; });
    for (std::size_t i = 0; i < order.size(); ++i)
        rank[order[i]] = i;
    return rank;
}

/// Up and then down, never up again. A table knows only where a packet goes, and not whether it has gone down yet, so
/// who has a way down takes it, even where one up and down would be shorter.
Ports up_down_ways(const Graph& graph, const std::vector<std::size_t>& rank, std::size_t to) {
    const auto is_up = [&](std::size_t from, std::size_t next) { return rank[next] < rank[from]; };
    std::vector<std::size_t> down(graph.size(), unreached), waiting{to};
    down[to] = 0;
    for (std::size_t i = 0; i < waiting.size(); ++i)
        for (const auto& above : graph[waiting[i]])
            if (is_up(waiting[i], above.fabric_switch) && down[above.fabric_switch] == unreached) {
                down[above.fabric_switch] = down[waiting[i]] + 1;
                waiting.push_back(above.fabric_switch);
            }
    std::vector<std::size_t> by_rank(graph.size());
    for (std::size_t i = 0; i < graph.size(); ++i)
        by_rank[rank[i]] = i;
    auto distance = down;
    Ports ways(graph.size());
    for (const auto i : by_rank) { // those above a switch are known before it
        const bool goes_down = down[i] != unreached;
        const auto leads = [&](const Neighbour& next) {
            return is_up(i, next.fabric_switch) != goes_down && distance[next.fabric_switch] != unreached &&
                   (!goes_down || down[next.fabric_switch] != unreached);
        };
        for (const auto& next : graph[i])
            if (!goes_down && leads(next))
                distance[i] = std::min(distance[i], distance[next.fabric_switch] + 1);
        for (const auto& next : graph[i])
            if (leads(next) && (goes_down ? down[next.fabric_switch] : distance[next.fabric_switch]) + 1 == distance[i])
                ways[i].push_back(static_cast<std::uint8_t>(next.port));
    }
    return ways;
}

/// Routes as `ways_to` has those to a switch. `is_meant`: of which switches.
template <class WaysTo, class IsMeant>
void fill_ways(const Description& platform, const std::vector<bool>& is_dead, std::vector<SwitchRoutes>& routes,
               WaysTo&& ways_to, IsMeant&& is_meant) {
    std::vector<std::optional<Ports>> known(routes.size()); // to switches that HCAs are at
    for (std::size_t hca = 0; hca < platform.hcas.size(); ++hca) {
        const auto at = switch_of(platform, platform.hcas[hca]);
        if (!at || !works(is_dead, platform.part(platform.hcas[hca]).hca().cable))
            continue;
        auto& ports = known[at->fabric_switch];
        if (!ports)
            ports = ways_to(at->fabric_switch);
        for (std::size_t i = 0; i < routes.size(); ++i)
            if (is_meant(i))
                routes[i].ways[hca] =
                    i == at->fabric_switch ? std::vector{static_cast<std::uint8_t>(at->port)} : (*ports)[i];
    }
}

/// By how many cables each switch is away from the nearest one with HCAs.
void find_levels(const Description& platform, const Graph& graph, std::vector<SwitchRoutes>& routes) {
    std::vector<bool> is_known(graph.size());
    std::vector<std::size_t> waiting;
    for (const auto& at : platform.hcas)
        if (const auto found = switch_of(platform, at); found && !is_known[found->fabric_switch]) {
            is_known[found->fabric_switch] = true;
            waiting.push_back(found->fabric_switch);
        }
    for (std::size_t i = 0; i < waiting.size(); ++i)
        for (const auto& next : graph[waiting[i]])
            if (!is_known[next.fabric_switch]) {
                is_known[next.fabric_switch] = true;
                routes[next.fabric_switch].level = routes[waiting[i]].level + 1;
                waiting.push_back(next.fabric_switch);
            }
}

} // namespace

std::uint8_t SwitchRoutes::way(std::size_t hca) const {
    const auto& ports = ways[hca];
    if (ports.empty())
        return 0;
    for (unsigned i = 0; i < level && ports.size() > 1 && hca != 0; ++i)
        hca /= ports.size();
    return ports[hca % ports.size()];
}

std::vector<SwitchRoutes> find_routes(const Description& platform, const std::vector<bool>& is_dead) {
    const auto graph = graph_of(platform, is_dead);
    std::vector<SwitchRoutes> routes(platform.switches.size());
    for (auto& route : routes) {
        route.ways.resize(platform.hcas.size());
        route.groups = ~std::uint64_t{1}; // not port 0
    }
    cut_circles(graph_of(platform, {}), graph, routes);
    find_levels(platform, graph, routes);
    if (platform.routing != FabricRouting::up_down) {
        fill_ways(
            platform, is_dead, routes, [&](std::size_t to) { return minimal_ways(graph, to); },
            [](std::size_t) { return true; });
        if (platform.routing == FabricRouting::minimal || !has_credit_loop(platform, routes))
            return routes;
    }
    const auto rank = ranks(graph);
    fill_ways(
        platform, is_dead, routes, [&](std::size_t to) { return up_down_ways(graph, rank, to); },
        [&](std::size_t i) { return platform.routing == FabricRouting::up_down || !platform.switches[i].is_ethernet; });
    return routes;
}

bool has_credit_loop(const Description& platform, const std::vector<SwitchRoutes>& routes) {
    const auto graph = graph_of(platform, {});
    constexpr std::size_t stride = 64;                           // ports of a switch are fewer
    std::vector<std::uint64_t> waits_for(graph.size() * stride); // by switch and port: ports of the switch behind it
    std::vector<std::size_t> behind(graph.size() * stride, unreached);
    std::vector<bool> has_hcas(graph.size()), is_done(graph.size());
    for (std::size_t i = 0; i < graph.size(); ++i)
        for (const auto& next : graph[i])
            behind[i * stride + next.port] = next.fabric_switch;
    for (const auto& at : platform.hcas)
        if (const auto found = switch_of(platform, at))
            has_hcas[found->fabric_switch] = true;
    for (std::size_t hca = 0; hca < platform.hcas.size(); ++hca) {
        const auto to = switch_of(platform, platform.hcas[hca]);
        if (!to || is_done[to->fabric_switch] || platform.switches[to->fabric_switch].is_ethernet ||
            routes[to->fabric_switch].ways[hca].empty())
            continue; // all HCAs of a switch are reached alike
        is_done[to->fabric_switch] = true;
        auto is_passed = has_hcas;
        std::vector<std::size_t> waiting;
        for (std::size_t i = 0; i < graph.size(); ++i)
            if (has_hcas[i])
                waiting.push_back(i);
        for (std::size_t i = 0; i < waiting.size(); ++i)
            for (const auto port : routes[waiting[i]].ways[hca]) {
                const auto next = behind[waiting[i] * stride + port];
                if (next == unreached)
                    continue; // the HCA
                for (const auto then : routes[next].ways[hca])
                    if (behind[next * stride + then] != unreached)
                        waits_for[waiting[i] * stride + port] |= std::uint64_t{1} << then;
                if (!is_passed[next]) {
                    is_passed[next] = true;
                    waiting.push_back(next);
                }
            }
    }
    // What nothing waits for is taken away, again and again; a circle is left (Kahn).
    std::vector<unsigned> waiters(waits_for.size());
    const auto for_each_next = [&](std::size_t channel, auto&& visit) {
        for (auto ports = waits_for[channel]; ports != 0; ports &= ports - 1)
            visit(behind[channel] * stride + static_cast<std::size_t>(std::countr_zero(ports)));
    };
    for (std::size_t i = 0; i < waits_for.size(); ++i)
        for_each_next(i, [&](std::size_t next) { ++waiters[next]; });
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < waits_for.size(); ++i)
        if (waiters[i] == 0)
            free.push_back(i);
    for (std::size_t i = 0; i < free.size(); ++i)
        for_each_next(free[i], [&](std::size_t next) {
            if (--waiters[next] == 0)
                free.push_back(next);
        });
    return free.size() != waits_for.size();
}

std::vector<std::size_t> find_islands(const Description& platform) {
    // Vertices: HCAs first, then switches.
    std::vector<std::size_t> root(platform.hcas.size() + platform.switches.size());
    std::iota(root.begin(), root.end(), std::size_t{0});
    const auto find = [&](std::size_t at) {
        while (root[at] != at)
            at = root[at] = root[root[at]];
        return at;
    };
    const auto vertex = [&](const CableEnd& end) {
        return end.is_switch ? platform.hcas.size() + end.fabric_switch
                             : platform.part({end.host, end.part}).hca().number;
    };
    for (const auto& cable : platform.cables) {
        const auto one = find(vertex(cable.ends[0])), other = find(vertex(cable.ends[1]));
        root[std::max(one, other)] = std::min(one, other);
    }
    std::vector<std::size_t> islands;
    for (std::size_t hca = 0; hca < platform.hcas.size(); ++hca)
        islands.push_back(find(hca));
    return islands;
}

} // namespace platform::topology

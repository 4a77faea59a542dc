#include "platform/topology/routes.h"

#include <algorithm>
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

Graph graph_of(const Description& platform) {
    Graph graph(platform.switches.size());
    for (std::size_t i = 0; i < platform.switches.size(); ++i)
        for (unsigned port = 1; port <= platform.switches[i].ports; ++port)
            if (const auto cable = platform.switches[i].cables[port])
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

/// Cables between switches that close a circle carry no multicast.
void cut_circles(const Graph& graph, std::vector<SwitchRoutes>& routes) {
    for (std::size_t i = 0; i < graph.size(); ++i)
        for (const auto& next : graph[i])
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

} // namespace

std::vector<SwitchRoutes> find_routes(const Description& platform) {
    const auto graph = graph_of(platform);
    std::vector<SwitchRoutes> routes(platform.switches.size());
    for (auto& route : routes) {
        route.ways.resize(platform.hcas.size());
        route.groups = ~std::uint64_t{1}; // not port 0
    }
    std::vector<std::vector<std::size_t>> from(platform.switches.size()); // of those that HCAs are at
    for (std::size_t hca = 0; hca < platform.hcas.size(); ++hca) {
        const auto at = switch_of(platform, platform.hcas[hca]);
        if (!at)
            continue;
        auto& distance = from[at->fabric_switch];
        if (distance.empty())
            distance = distances(graph, at->fabric_switch);
        for (std::size_t i = 0; i < routes.size(); ++i) {
            if (i == at->fabric_switch) {
                routes[i].ways[hca] = {static_cast<std::uint8_t>(at->port)};
                continue;
            }
            if (distance[i] == unreached)
                continue;
            for (const auto& next : graph[i])
                if (distance[next.fabric_switch] + 1 == distance[i])
                    routes[i].ways[hca].push_back(static_cast<std::uint8_t>(next.port));
        }
    }
    cut_circles(graph, routes);
    return routes;
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

#include "sw/memory/peer_route.h"

#include <algorithm>
#include <vector>

namespace sw::memory {

namespace {

constexpr std::uint8_t host_bus = 0;

/// The bridges from a bus up to the host, the nearest first.
std::vector<const Bridge*> path_up(std::span<const Bridge> bridges, std::uint8_t bus) {
    std::vector<const Bridge*> path;
    while (bus != host_bus && path.size() <= bridges.size()) { // a loop in the tables must not hang us
        const auto above = std::ranges::find(bridges, bus, &Bridge::secondary);
        if (above == bridges.end())
            break;
        path.push_back(&*above);
        bus = above->bus;
    }
    return path;
}

/// Whether, on the way up to `bus`, nothing redirects.
bool is_plain(std::span<const Bridge* const> path, std::uint8_t from, std::uint8_t bus, bool Bridge::* redirects) {
    for (const auto* bridge : path) {
        if (from == bus)
            break;
        if (bridge->*redirects)
            return false;
        from = bridge->bus;
    }
    return true;
}

} // namespace

PeerRoute find_peer_route(std::span<const Bridge> bridges, std::uint8_t from, std::uint8_t to, bool host_forwards,
                          bool translates) {
    const auto host = host_forwards ? PeerRoute::through_host : PeerRoute::none;
    const auto ways_up = path_up(bridges, from), ways_down = path_up(bridges, to);
    // The lowest bus on both ways; functions of one bus are behind one port already.
    const auto touches = [](std::span<const Bridge* const> path, std::uint8_t begin, std::uint8_t bus) {
        return begin == bus || std::ranges::any_of(path, [&](const auto* bridge) { return bridge->bus == bus; });
    };
    std::vector<std::uint8_t> buses{from};
    for (const auto* bridge : ways_up)
        buses.push_back(bridge->bus);
    const auto common = std::ranges::find_if(buses, [&](std::uint8_t bus) { return touches(ways_down, to, bus); });
    if (common == buses.end() || *common == host_bus)
        return host;
    const auto redirects = translates ? &Bridge::redirects_translated : &Bridge::redirects;
    if (!is_plain(ways_up, from, *common, redirects) || !is_plain(ways_down, to, *common, redirects))
        return host;
    return translates ? PeerRoute::translated : PeerRoute::direct;
}

} // namespace sw::memory

#include "sw/memory/peer_route.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

using sw::memory::Bridge;
using sw::memory::find_peer_route;
using sw::memory::PeerRoute;

namespace {
// Root port to bus 1; there a switch: upstream port to bus 2, downstream ports to buses 3 and 4. A root port to bus 5.
struct Machine {
    std::array<Bridge, 5> bridges{{{0, 1}, {1, 2}, {2, 3}, {2, 4}, {0, 5}}};
    PeerRoute route(std::uint8_t from, std::uint8_t to, bool host_forwards = true, bool translates = false) const {
        return find_peer_route(bridges, from, to, host_forwards, translates);
    }
};
} // namespace

TEST_CASE("peers below one switch are reached straight", "[unit][memory]") {
    const Machine machine;
    CHECK(machine.route(3, 4) == PeerRoute::direct);
    CHECK(machine.route(4, 3, false) == PeerRoute::direct);
    CHECK(machine.route(3, 3, false) == PeerRoute::direct);
}

TEST_CASE("where a port on either side redirects, peers are reached through a host that forwards", "[unit][memory]") {
    for (const auto redirecting : {2u, 3u}) {
        Machine machine;
        machine.bridges[redirecting].redirects = true;
        CHECK(machine.route(3, 4) == PeerRoute::through_host);
        CHECK(machine.route(3, 4, false) == PeerRoute::none);
    }
}

TEST_CASE("a function that translates addresses itself goes straight where ports let translated requests pass",
          "[unit][memory]") {
    Machine machine;
    CHECK(machine.route(3, 4, false, true) == PeerRoute::translated);
    machine.bridges[2].redirects = machine.bridges[3].redirects = true;
    CHECK(machine.route(3, 4, false, true) == PeerRoute::translated);
    CHECK(machine.route(3, 4, false) == PeerRoute::none);
    machine.bridges[3].redirects_translated = true;
    CHECK(machine.route(3, 4, false, true) == PeerRoute::none);
    CHECK(machine.route(3, 4, true, true) == PeerRoute::through_host);
    CHECK(machine.route(3, 5, true, true) == PeerRoute::through_host);
}

TEST_CASE("ports above the common switch redirect nothing between its peers", "[unit][memory]") {
    Machine machine;
    machine.bridges[0].redirects = machine.bridges[1].redirects = machine.bridges[4].redirects = true;
    CHECK(machine.route(3, 4, false) == PeerRoute::direct);
}

TEST_CASE("peers below different root ports, and functions nobody knows, need the host", "[unit][memory]") {
    const Machine machine;
    CHECK(machine.route(3, 5) == PeerRoute::through_host);
    CHECK(machine.route(5, 4, false) == PeerRoute::none);
    CHECK(machine.route(3, 77) == PeerRoute::through_host);
    CHECK(machine.route(0, 3, false) == PeerRoute::none);
}

TEST_CASE("bridges that claim to be a loop have an end", "[unit][memory]") {
    constexpr std::array<Bridge, 2> loop{{{2, 1}, {1, 2}}};
    CHECK(find_peer_route(loop, 1, 9, false) == PeerRoute::none);
}

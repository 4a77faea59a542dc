// A switch that chooses among equal ways: the one with the shortest queue, and none whose link is down.
#include "testbench/unit/model/net/switch_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <utility>
#include <vector>

using model::net::InfinibandSwitch;
using namespace harness;
using abi::wire::Service;

namespace {

/// From port 1 to LID 11 by port 2 to 4.
struct Adaptive {
    explicit Adaptive(bool is_adaptive = true)
        : device({.agent = {.ports = 4, .guid = 1}, .latency = {}, .is_adaptive = is_adaptive}, {&log, 1}) {
        for (unsigned number = 1; number <= 4; ++number)
            device.connect(number, out[number]);
        device.agent().set_route(11, 3);
        device.set_ways(11, {2, 3, 4});
    }
    void send(Service service = Service::rc) {
        auto packet = SwitchBench::packet(11);
        packet.rdma().service = service;
        device.receiver(1).receive(packet, {});
    }
    std::vector<std::size_t> sent() const {
        return {out[2].packets.size(), out[3].packets.size(), out[4].packets.size()};
    }
    EventLog log;
    std::array<Kept, 5> out;
    InfinibandSwitch device;
};

using Counts = std::vector<std::size_t>;

} // namespace

TEST_CASE("packets of a connection go by equal ways in turn, while none of them is busy", "[unit][switch]") {
    Adaptive bench;
    for (int i = 0; i < 6; ++i)
        bench.send();

    CHECK(bench.sent() == Counts{2, 2, 2});
}

TEST_CASE("a way with a queue is left alone", "[unit][switch]") {
    Adaptive bench;
    bench.out[3].takes_data = false;
    for (int i = 0; i < 6; ++i)
        bench.send();

    CHECK(bench.device.waiting() == 1); // nobody knew before the first one
    CHECK(bench.sent()[0] + bench.sent()[2] == 5);
}

TEST_CASE("a way whose link is down is none, at once and without new tables", "[unit][switch]") {
    Adaptive bench;
    bench.device.receiver(3).link_changed(false, {});
    for (int i = 0; i < 6; ++i)
        bench.send();
    CHECK(bench.sent() == Counts{3, 0, 3});
    CHECK(bench.device.dropped() == 0);

    bench.device.receiver(2).link_changed(false, {});
    bench.device.receiver(4).link_changed(false, {});
    bench.send();
    CHECK(bench.device.dropped() == 1);
}

TEST_CASE("a packet does not go back by the port it came from", "[unit][switch]") {
    Adaptive bench;
    bench.device.set_ways(11, {1, 2});
    for (int i = 0; i < 4; ++i)
        bench.send();

    CHECK(bench.out[1].packets.empty());
    CHECK(bench.out[2].packets.size() == 4);
}

TEST_CASE("datagrams, and packets at a switch that does not adapt, go as the table says", "[unit][switch]") {
    Adaptive bench, table(false);
    for (int i = 0; i < 3; ++i) {
        bench.send(Service::ud);
        table.send();
    }

    CHECK(bench.sent() == Counts{0, 3, 0});
    CHECK(table.sent() == Counts{0, 3, 0});
}

TEST_CASE("what waits for a port whose link goes is discarded, and its room is granted anew", "[unit][switch]") {
    Adaptive bench(false);
    bench.out[3].takes_data = false;
    bench.send();
    bench.send();
    REQUIRE(bench.device.waiting() == 2);
    CHECK(bench.out[1].credits.empty());

    bench.device.receiver(3).link_changed(false, {});

    CHECK(bench.device.waiting() == 0);
    CHECK(bench.device.discarded(3) == 2);
    CHECK(bench.device.dropped() == 2);
    CHECK(bench.out[1].credits.size() == 2);
    bench.send();
    CHECK(bench.device.discarded(3) == 3);
    CHECK(bench.out[3].packets.empty());
}

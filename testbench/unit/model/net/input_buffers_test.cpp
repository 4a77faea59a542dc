// What a switch does with packets that an output does not take: where they wait, who goes first, and when the sender
// hears that there is room again.
#include "testbench/unit/model/net/switch_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace abi::wire;
using harness::SwitchBench;
using model::port::Packet;
using Bench = SwitchBench;
using Bytes = std::vector<std::uint64_t>;

namespace {
Packet packet(std::uint16_t to, std::uint32_t psn = 0) {
    auto p = Bench::packet(to);
    p.rdma().psn = abi::Psn{psn};
    return p;
}

std::vector<std::uint32_t> psns(const harness::Kept& kept) {
    std::vector<std::uint32_t> all;
    for (const auto& p : kept.packets)
        all.push_back(p.rdma().psn.value);
    return all;
}

/// LRH, BTH, 16 bytes of payload, ICRC and VCRC.
constexpr std::uint64_t packet_bytes = 8 + 12 + 16 + 4 + 2;
} // namespace

TEST_CASE("a packet that waits leaves when its port takes it, and the sender hears of the room then",
          "[unit][switch][credits]") {
    Bench bench(false);
    bench.out[2].takes_data = false;
    bench.send(1, packet(11, 1));
    bench.send(1, packet(11, 2));

    CHECK(bench.out[2].packets.empty());
    CHECK(bench.out[1].credits.empty());
    CHECK(bench.device.waiting() == 2);

    bench.out[2].takes_data = true;
    bench.send(1, packet(11, 3)); // not before those that wait
    CHECK(bench.out[2].packets.empty());
    bench.device.receiver(2).ready({});

    CHECK(psns(bench.out[2]) == std::vector<std::uint32_t>{1, 2, 3});
    CHECK(bench.out[1].credits == Bytes(3, packet_bytes));
    CHECK(bench.device.waiting() == 0);
}

TEST_CASE("an output takes from the inputs in turn, and who waits for another one is passed",
          "[unit][switch][credits]") {
    Bench bench(false);
    bench.device.agent().set_route(12, 3);
    bench.out[3].takes_data = false;
    for (std::uint32_t i = 0; i < 3; ++i)
        bench.send(1, packet(12, 10 + i));
    bench.send(1, packet(11, 1));
    for (std::uint32_t i = 0; i < 3; ++i)
        bench.send(2, packet(12, 20 + i));

    CHECK(psns(bench.out[2]) == std::vector<std::uint32_t>{1});
    bench.out[3].takes_data = true;
    bench.device.receiver(3).ready({});

    CHECK(psns(bench.out[3]) == std::vector<std::uint32_t>{10, 20, 11, 21, 12, 22});
}

TEST_CASE("a multicast packet takes its room once, until its last copy has left", "[unit][switch][credits]") {
    Bench bench(false);
    bench.out[2].takes_data = bench.out[3].takes_data = false;
    bench.send(1, packet(0xc005));
    CHECK(bench.device.waiting() == 2);

    bench.out[3].takes_data = true;
    bench.device.receiver(3).ready({});
    CHECK(bench.out[3].packets.size() == 1);
    CHECK(bench.out[1].credits.empty());

    bench.out[2].takes_data = true;
    bench.device.receiver(2).ready({});
    CHECK(bench.out[2].packets.size() == 1);
    CHECK(bench.out[1].credits == Bytes{packet_bytes});
}

TEST_CASE("whatever becomes of a packet, its room is given back once", "[unit][switch][credits]") {
    Bench bench(false);
    bench.send(1, packet(12)); // unknown
    bench.send(1, packet(11));
    bench.send(1, packet(0xc005));
    auto damaged = packet(11);
    damaged.image.resize(30);
    bench.send(1, damaged);

    CHECK(bench.out[1].credits == Bytes(4, packet_bytes));
}

TEST_CASE("management waits for nobody and has no room to give back", "[unit][switch][credits]") {
    Bench bench(false);
    bench.out[1].takes_data = false;
    bench.send(1, Bench::management(Bench::mad(SmAttribute::node_info)));

    CHECK(bench.out[1].packets.size() == 1);
    CHECK(bench.out[1].credits.empty());
}

TEST_CASE("an input whose buffer is full takes nothing from an untimed cable, others do", "[unit][switch][credits]") {
    Bench bench(false);
    bench.out[2].takes_data = false;
    bench.device.connect(1, bench.out[1], 132);
    for (std::uint32_t i = 0; i < 66; ++i) { // a block each, and as many left as a longest packet has
        CHECK(bench.device.receiver(1).can_receive({}));
        bench.send(1, packet(11, i));
    }
    CHECK(bench.device.receiver(1).can_receive({}));
    bench.send(1, packet(11, 66));

    CHECK_FALSE(bench.device.receiver(1).can_receive({}));
    CHECK(bench.device.receiver(3).can_receive({}));
    bench.out[2].takes_data = true;
    bench.device.receiver(2).ready({});
    CHECK(bench.device.receiver(1).can_receive({}));
    CHECK(bench.device.dropped() == 0);
}

TEST_CASE("what comes without credit and finds a full buffer is dropped and counted", "[unit][switch][credits]") {
    Bench bench(false);
    bench.out[2].takes_data = false;
    bench.device.connect(1, bench.out[1], 2);
    for (std::uint32_t i = 0; i < 3; ++i)
        bench.send(1, packet(11, i));

    CHECK(bench.device.waiting() == 2);
    CHECK(bench.device.dropped() == 1);
    CHECK(bench.out[1].credits == Bytes{packet_bytes});
}

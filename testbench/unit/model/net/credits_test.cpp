// Flow control of an InfiniBand link (IBA 7.9): who has no credit does not send, and what the link carries is the
// smaller of its rate and the other end's buffer a round trip.
#include "model/net/credits.h"
#include "testbench/unit/model/net/link_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdint>
#include <utility>

using namespace harness;
using namespace std::chrono_literals;
using model::net::Credits;

namespace {

LinkConfig infiniband(std::uint32_t blocks) {
    LinkConfig config;
    config.encapsulation = Encapsulation::infiniband;
    config.credit_blocks = blocks;
    return config;
}

/// A packet of 8 + 12 + 16 + 4096 + 4 + 2 bytes: 65 blocks, and so many picoseconds at 100 Gbit/s.
constexpr std::uint32_t packet_blocks = 65;
constexpr Time packet_time{4138 * 80};

/// A port that keeps what it receives, as a switch's does.
struct KeepingPort final : Receiver {
    std::vector<Arrival> arrivals;
    std::function<void(Time)> on_ready;
    void receive(Packet& packet, Time at) override { arrivals.push_back({packet.rdma().psn.value, at}); }
    void received_all(Time) override {}
    bool keeps_packets() const override { return true; }
    void ready(Time at) override {
        if (on_ready)
            on_ready(at);
    }
};

struct Bench : LinkBench {
    using LinkBench::LinkBench;
    std::uint32_t sent = 0;

    Time put(Time at, abi::Qpn to = abi::Qpn{0x55}) {
        auto& packet = link.end(0).next();
        packet.path.encapsulation = Encapsulation::infiniband;
        packet.rdma().operation = Operation::write_only;
        packet.rdma().destination = to;
        packet.rdma().psn = abi::Psn{sent++};
        packet.payload.extend(4096);
        return link.end(0).send(at);
    }
    /// Sends whatever is taken until `stop`; the bytes of each packet come `lead` after it was booked.
    void saturate(Time stop, Time lead = {}) {
        const auto fill = [this, stop, lead](Time now) {
            while (now < stop && link.end(0).can_send(now))
                put(now + lead);
        };
        ports[0].on_ready = fill;
        fill({});
        clock.run(link);
    }
    const net::LinkCounters& counters() const { return link.counters(0); }
};

} // namespace

TEST_CASE("credits come back at their times, in whatever order they are given", "[unit][link][credits]") {
    Credits credits(100);
    CHECK(credits.next() == port::never);

    credits.take(90);
    credits.give_back(5, 30ns);
    credits.give_back(7, 10ns);
    credits.give_back(0, 1ns); // nothing
    credits.give_back(11, 20ns);

    CHECK(credits.left() == 10);
    CHECK(credits.next() == 10ns);
    credits.collect(20ns);
    CHECK(credits.left() == 28);
    CHECK(credits.next() == 30ns);
    for (int i = 0; i < 100; ++i)
        credits.give_back(1, nanoseconds{1000 - i});
    credits.collect(999ns);
    CHECK(credits.left() == 28 + 5 + 99);
    credits.collect(1us);
    CHECK(credits.next() == port::never);
}

TEST_CASE("a packet takes whole blocks of 64 bytes", "[unit][link][credits]") {
    CHECK(Credits::blocks_of(1) == 1);
    CHECK(Credits::blocks_of(64) == 1);
    CHECK(Credits::blocks_of(65) == 2);
    CHECK(Credits::blocks_of(4138) == packet_blocks);
}

TEST_CASE("a packet waits until there is room for all of it", "[unit][link][credits]") {
    Bench b(infiniband(2 * packet_blocks - 1));
    b.put({});
    b.put({});

    b.clock.run(b.link);

    const auto& arrivals = b.ports[1].arrivals;
    REQUIRE(arrivals.size() == 2);
    // The sender hears of the room of the first one when a word of it has come back.
    CHECK(arrivals[1].at - arrivals[0].at == packet_time + 2 * b.link.config().latency);
}

TEST_CASE("a link carries the smaller of its rate and its buffer a round trip", "[unit][link][credits]") {
    const auto packets = GENERATE(1u, 2u, 3u, 4u, 8u);
    Bench b(infiniband(packets * packet_blocks));

    b.saturate(1ms);

    // Of a packet: its bits, the way there, and the way back of the word that there is room again.
    const auto round_trip = packet_time + 2 * b.link.config().latency;
    const auto each = std::max(packet_time, round_trip / packets);
    const auto expected = static_cast<double>(Time{1ms} / each);
    const auto carried = static_cast<double>(b.counters().delivered);
    CHECK(carried > 0.98 * expected);
    CHECK(carried < 1.02 * expected + 40); // what waits at the port by then goes out behind
    b.check_balance();
    const auto idle = b.counters().waited, busy = static_cast<std::int64_t>(b.counters().delivered) * packet_time;
    if (packets <= 3) {
        CHECK(idle + busy > 0.98 * b.clock.time);
        CHECK(idle + busy <= b.clock.time);
    } else if (packets >= 5) {
        CHECK(idle == 0ns);
    }
}

TEST_CASE("packets whose bytes come late hold no credit from others until then", "[unit][link][credits]") {
    const auto lead = GENERATE(Time{0}, Time{1us}, Time{5us});
    auto config = infiniband(2048);
    config.rate_gbps = 400;
    Bench b(config);

    b.saturate(1ms, lead);

    const auto line = static_cast<double>(Time{1ms} / (packet_time / 4));
    CHECK(static_cast<double>(b.counters().delivered) > 0.99 * line);
}

TEST_CASE("a port without credit keeps no more than its backlog", "[unit][link][credits]") {
    auto config = infiniband(2 * packet_blocks);
    config.backlog = 10 * packet_time;
    Bench b(config);
    KeepingPort keeper;
    b.link.attach(1, keeper);

    b.saturate(1ms);

    CHECK(keeper.arrivals.size() == 2);
    CHECK(b.sent == 2 + 11);
    CHECK(b.link.under_way(0) == 11);
    b.link.end(1).give_credit(4138, 500us);
    b.clock.run(b.link);
    REQUIRE(keeper.arrivals.size() == 3);
    CHECK(keeper.arrivals[2] == Arrival{2, Time{500us} + 500ns + packet_time + 500ns});
    CHECK(b.sent == 2 + 12);
    b.check_balance();
}

TEST_CASE("management has a lane of its own", "[unit][link][credits]") {
    Bench b(infiniband(packet_blocks));
    KeepingPort keeper;
    b.link.attach(1, keeper);

    b.put({});
    b.put({});
    b.put({}, abi::Qpn{0});
    b.clock.run(b.link);

    REQUIRE(keeper.arrivals.size() == 2);
    CHECK(keeper.arrivals[0].psn == 0);
    CHECK(keeper.arrivals[1].psn == 2);
    b.link.end(1).give_credit(4138, 1ms);
    b.clock.run(b.link);
    REQUIRE(keeper.arrivals.size() == 3);
    CHECK(keeper.arrivals[2].psn == 1);
}

TEST_CASE("a packet that never arrives leaves its room to others", "[unit][link][credits]") {
    auto config = infiniband(2 * packet_blocks);
    SECTION("lost") { config.loss = 0.5; }
    SECTION("doubled") { config.duplicate = 0.5; }
    SECTION("held back") { config.reorder = 0.5; }
    Bench b(config);

    b.saturate(300us);

    CHECK(b.sent > 100);
    CHECK(b.link.under_way(0) == 0);
    b.check_balance();
}

TEST_CASE("a doubled packet takes room twice, as its receiver gives it back twice", "[unit][link][credits]") {
    auto config = infiniband(4 * packet_blocks);
    config.duplicate = 1;
    Bench b(config);
    KeepingPort keeper;
    b.link.attach(1, keeper);
    b.put({});
    b.clock.run(b.link);
    REQUIRE(keeper.arrivals.size() == 2);
    for (int i = 0; i < 2; ++i)
        b.link.end(1).give_credit(4138, 10us);

    b.clock.time = 20us;
    for (int i = 0; i < 5; ++i)
        if (b.link.end(0).can_send(20us))
            b.put(20us);
    b.clock.run(b.link);

    CHECK(keeper.arrivals.size() == 2 + 4);
    b.check_balance();
}

TEST_CASE("a port that keeps packets takes none before a longest one has room", "[unit][link][credits]") {
    Bench b(infiniband(2 * packet_blocks));
    KeepingPort source, keeper;
    b.link.attach(0, source);
    b.link.attach(1, keeper);
    REQUIRE(b.link.end(0).can_send({}));
    b.put({});

    CHECK_FALSE(b.link.end(0).can_send({})); // 65 blocks are left, of 66
    Time ready{};
    source.on_ready = [&](Time at) { ready = at; };
    b.clock.run(b.link);
    CHECK(ready == Time{});
    b.link.end(1).give_credit(4138, 5us);
    b.clock.run(b.link);

    CHECK(ready == 5500ns);
    CHECK(b.link.end(0).can_send(ready));
}

TEST_CASE("a link that has gone and come back has all its credits", "[unit][link][credits]") {
    Bench b(infiniband(2 * packet_blocks));
    for (int i = 0; i < 6; ++i)
        b.put({});
    b.clock.time = 100ns; // the first is on the line
    b.link.end(0).set_on(false, 100ns);
    b.link.end(0).set_on(true, 200ns);
    b.clock.run(b.link);
    CHECK(b.counters().delivered + b.counters().lost == 6);
    CHECK(b.counters().lost >= 4);

    b.saturate(b.clock.time + 100us);

    CHECK(b.link.under_way(0) == 0);
    CHECK(b.counters().delivered > 100us / (packet_time + 1us) * 2 - 4);
    b.check_balance();
}

TEST_CASE("an Ethernet cable has no credits", "[unit][link][credits]") {
    auto config = infiniband(packet_blocks);
    config.encapsulation = Encapsulation::roce_v2_ipv4;
    Bench b(config);
    KeepingPort keeper;
    b.link.attach(1, keeper);

    b.saturate(10us);

    CHECK(keeper.arrivals.size() == b.sent);
    CHECK(b.counters().waited == 0ns);
}

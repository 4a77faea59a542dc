// Hosts at Ethernet switches: what finds no room waits, is marked, makes its sender pause, or is dropped; and by which
// ports frames leave.
#include "testbench/unit/model/net/fabric_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <set>

using namespace harness;
using Bench = FabricBench;
using model::net::EthernetSwitchConfig;

namespace {

constexpr double line_bytes_per_ps = 12.5e9 / 1e12; ///< 100 Gbit/s

EthernetSwitchConfig ports(unsigned count) {
    EthernetSwitchConfig config;
    config.ports = count;
    config.latency = 100ns;
    return config;
}

/// So many senders at one switch, and behind them, at the next port, who receives.
Bench::Host& make_incast(Bench& bench, unsigned senders, EthernetSwitchConfig config) {
    config.ports = senders + 3;
    auto& middle = bench.add_switch(config);
    for (unsigned i = 1; i <= senders; ++i)
        bench.add_host(middle, i);
    auto& target = bench.add_host(middle, senders + 1);
    for (auto& host : bench.hosts)
        host.to = &host == &target ? 0 : target.lid;
    return target;
}

std::uint64_t bytes_of(const Bench::Host& host) {
    std::uint64_t sum = 0;
    for (const auto& [lid, flow] : host.from)
        sum += flow.bytes;
    return sum;
}

/// Goodput from one host to another, over that of a whole line.
double share(const Bench::Host& from, const Bench::Host& to, Time until) {
    const auto flow = to.from.find(from.lid);
    return flow == to.from.end()
               ? 0
               : static_cast<double>(flow->second.bytes) / (line_bytes_per_ps * static_cast<double>(until.count()));
}

/// Two switches with one cable between them. At the first A and B, at the second C, D and E. A and E send to C, B to D.
struct TwoSwitches {
    TwoSwitches() {
        for (unsigned port : {1u, 2u})
            bench.add_host(left, port);
        for (unsigned port : {1u, 2u, 3u})
            bench.add_host(right, port);
        bench.add_trunk(left, 8, right, 8);
        for (std::uint16_t lid : {1, 2})
            Bench::set_route(right, lid, 8);
        for (std::uint16_t lid : {3, 4, 5})
            Bench::set_route(left, lid, 8);
        for (auto* host : {&a(), &e()})
            host->to = c().lid;
        b().to = d().lid;
        for (auto* host : {&a(), &b(), &e()})
            host->priority = 3;
    }
    Bench::Host& a() { return bench.hosts[0]; }
    Bench::Host& b() { return bench.hosts[1]; }
    Bench::Host& c() { return bench.hosts[2]; }
    Bench::Host& d() { return bench.hosts[3]; }
    Bench::Host& e() { return bench.hosts[4]; }

    Bench bench{Bench::ethernet()};
    EthernetSwitch& left = bench.add_switch(ports(8));
    EthernetSwitch& right = bench.add_switch(ports(8));
};

} // namespace

TEST_CASE("an incast at a switch that pauses loses nothing, uses the whole line and is fair by port",
          "[unit][switch]") {
    const auto senders = GENERATE(4u, 16u);
    Bench bench(Bench::ethernet());
    auto& target = make_incast(bench, senders, ports(0));

    bench.run();

    CHECK(bench.dropped() == 0);
    bench.check_balance();
    CHECK(bench.ethernet_switches[0].counters(1).pauses > 0);
    const auto end = static_cast<double>(bench.now.count());
    CHECK(static_cast<double>(bytes_of(target)) > 0.97 * line_bytes_per_ps * end);
    REQUIRE(target.from.size() == senders);
    for (const auto& [lid, flow] : target.from) {
        CHECK(flow.is_in_order);
        CHECK(flow.received == bench.hosts[lid - 1].sent);
        CHECK(static_cast<double>(flow.bytes) * senders > 0.9 * static_cast<double>(bytes_of(target)));
        CHECK(static_cast<double>(flow.bytes) * senders < 1.1 * static_cast<double>(bytes_of(target)));
    }
    // Nobody has looked since the last frame came, when the port had booked its line for 2 us.
    CHECK(bench.ethernet_switches[0].buffer().used() <= 25'000 + 2 * 4224);
}

TEST_CASE("without pauses the same incast loses packets, and the buffer is full but not overfull", "[unit][switch]") {
    Bench bench(Bench::ethernet());
    auto config = ports(0);
    config.buffer.has_pfc = false;
    config.buffer.bytes = 1 << 20;
    make_incast(bench, 4, config);

    bench.run();

    CHECK(bench.dropped() > 1000);
    CHECK(bench.ethernet_switches[0].counters(1).pauses == 0);
    // One queue has alpha times what is free, and so half of all with alpha 1, and half of the frame that is let in.
    CHECK(bench.ethernet_switches[0].buffer().most_used() <= (1 << 19) + 4224 / 2);
    CHECK(bench.ethernet_switches[0].buffer().most_used() > (1 << 19) - 3 * 4224);
    bench.check_balance();
}

TEST_CASE("headroom for what is under way when a pause is asked for is enough, and four fifths of it are not",
          "[unit][switch]") {
    const auto run = [](std::uint64_t headroom) {
        auto bench = std::make_unique<Bench>(Bench::ethernet());
        auto config = ports(0);
        config.buffer.bytes = (1 << 20) + 7 * headroom;
        config.buffer.headroom = headroom;
        make_incast(*bench, 4, config);
        bench->run();
        return std::pair(bench->dropped(), bench->ethernet_switches[0].buffer().most_headroom());
    };
    const auto [none_lost, needed] = run(128 << 10);
    REQUIRE(none_lost == 0);
    // What the port had booked (2 us), a frame each way, and the cable there and back.
    CHECK(needed < 2 * 4224 + static_cast<std::uint64_t>(12.5e3 * (2.0 + 1.2 + 0.4)));
    CHECK(run(needed).first == 0);
    CHECK(run(needed * 4 / 5).first > 0);
}

TEST_CASE("a pause reaches through two switches, and stops a bystander of the same priority, but of no other",
          "[unit][switch]") {
    for (const bool is_same : {true, false}) {
        TwoSwitches fabric;
        fabric.b().priority = is_same ? 3 : 1;
        fabric.bench.run();
        CHECK(fabric.bench.dropped() == 0);
        fabric.bench.check_balance();
        CHECK(fabric.left.counters(1).pauses > 0);
        const auto victim = share(fabric.b(), fabric.d(), fabric.bench.now);
        INFO("same priority: " << is_same << ", share of the bystander: " << victim);
        // A has half of C's line, and B what it takes of the trunk in turn with A, or all of the rest.
        CHECK(share(fabric.a(), fabric.c(), fabric.bench.now) > 0.4);
        if (is_same)
            CHECK(victim < 0.6);
        else
            CHECK(victim > 0.9 * 0.5);
    }
}

TEST_CASE("a packet does not wait for a paused queue of another priority", "[unit][switch]") {
    TwoSwitches fabric;
    auto& bench = fabric.bench;
    fabric.b().to = 0;
    for (auto& host : bench.hosts)
        host.send(bench.now);
    // The cable between the switches is paused for the priority of A, and A's packets wait for it.
    while (fabric.right.counters(8).pauses == 0 || fabric.left.waiting() < 10)
        REQUIRE(bench.step());
    fabric.b().priority = 1;
    fabric.b().to = fabric.d().lid;
    fabric.b().most = 1;
    fabric.b().send(bench.now);
    while (bench.step()) {
    }
    REQUIRE(fabric.d().from.at(fabric.b().lid).received == 1);
    // Three cables of 500 ns, two switches, and on each cable what had been booked before it.
    CHECK(fabric.d().from.at(fabric.b().lid).longest < 8us);
}

TEST_CASE("packets that can be marked are, by the length of their queue, and no others", "[unit][switch]") {
    for (const std::uint8_t ecn : {0, 1, 2}) {
        Bench bench(Bench::ethernet());
        auto config = ports(0);
        config.buffer.has_ecn = true;
        config.buffer.ecn_min = 50'000;
        config.buffer.ecn_max = 200'000;
        auto& target = make_incast(bench, 4, config);
        for (auto& host : bench.hosts)
            host.ecn = ecn;
        bench.run();
        std::uint64_t marked = 0;
        for (unsigned port = 1; port <= 4; ++port)
            marked += bench.ethernet_switches[0].counters(port).marked;
        CHECK(target.marked == marked);
        CHECK((marked > 1000) == (ecn != 0));
    }
}

TEST_CASE("the buffer marks nothing up to one length, everything from another on, and a growing share between them",
          "[unit][switch]") {
    model::net::SharedBufferConfig config;
    config.has_ecn = true;
    config.ecn_min = 100'000;
    config.ecn_max = 300'000;
    config.ecn_probability = 0.4;
    const auto marks = [&](std::uint32_t length) {
        model::net::SharedBuffer buffer(3, config);
        model::net::SharedBuffer::Stay stay{.bytes = length, .ingress = 1, .egress = 2, .priority = 3};
        REQUIRE(buffer.admit(stay) == model::net::SharedBuffer::Where::shared);
        unsigned found = 0;
        for (int i = 0; i < 10'000; ++i)
            found += buffer.marks(2, 3);
        CHECK_FALSE(buffer.marks(1, 3));
        return found;
    };
    CHECK(marks(100'000) == 0);
    CHECK(marks(300'000) == 10'000);
    const auto middle = marks(200'000); // half of the way: 0.2
    CHECK(middle > 1800);
    CHECK(middle < 2200);
}

TEST_CASE("a pause begins when a frame does not fit, and ends when two of the longest do", "[unit][switch]") {
    using model::net::SharedBuffer;
    model::net::SharedBufferConfig config;
    config.headroom = 64 << 10;
    config.bytes = 2 * config.headroom + 80'000; // of which one queue can have half, with alpha 1
    SharedBuffer buffer(3, config);
    std::vector<SharedBuffer::Stay> inside;
    const auto admit = [&] {
        inside.push_back({.bytes = 4000, .ingress = 1, .egress = 2, .priority = 3});
        return buffer.admit(inside.back());
    };
    while (admit() == SharedBuffer::Where::shared)
        CHECK(buffer.paused(1) == 0);
    CHECK(inside.back().where == SharedBuffer::Where::headroom);
    CHECK(buffer.paused(1) == 1u << 3);
    CHECK(buffer.paused(2) == 0);
    const auto release = [&](std::size_t number) { buffer.release(inside[number]); };
    release(inside.size() - 1); // the headroom is empty again
    CHECK(buffer.paused(1) == 1u << 3);
    release(0); // each makes room for two, as the threshold grows as well; two of the longest are a little more
    CHECK(buffer.paused(1) == 1u << 3);
    release(1);
    CHECK(buffer.paused(1) == 0);
}

TEST_CASE("flows are spread over equal ways, and each keeps its own and its order", "[unit][switch]") {
    Bench bench(Bench::ethernet());
    auto &left = bench.add_switch(ports(40)), &right = bench.add_switch(ports(40));
    constexpr std::uint16_t senders = 16;
    for (std::uint16_t i = 1; i <= senders; ++i) {
        auto& host = bench.add_host(left, i);
        host.payload = 256;
        host.most = 50;
        host.udp_source_port = static_cast<std::uint16_t>(0xc000 + i * 77);
    }
    auto& target = bench.add_host(right, 1);
    std::vector<std::uint8_t> ways;
    std::vector<Link*> trunks;
    for (std::uint8_t i = 0; i < 4; ++i) {
        trunks.push_back(&bench.add_trunk(left, 20u + i, right, 20u + i));
        ways.push_back(static_cast<std::uint8_t>(20 + i));
    }
    left.set_ways(Bench::mac_of(target.lid), ways);
    for (auto& host : bench.hosts)
        host.to = &host == &target ? 0 : target.lid;
    bench.run();
    CHECK(bench.dropped() == 0);
    for (const auto& [lid, flow] : target.from) {
        CHECK(flow.is_in_order);
        CHECK(flow.received == 50);
    }
    for (const auto* trunk : trunks) {
        CHECK(trunk->counters(0).packets > 0);
        CHECK(trunk->counters(0).packets % 50 == 0); // whole flows
    }
}

TEST_CASE("frames to a MAC that nobody knows go to all, until its owner has sent something", "[unit][switch]") {
    Bench bench(Bench::ethernet());
    auto& middle = bench.add_switch(ports(4));
    for (unsigned port : {1u, 2u, 3u})
        bench.add_host(middle, port);
    constexpr std::uint16_t stranger = 9; // what host 3 calls itself
    bench.hosts[0].to = stranger;
    bench.hosts[0].most = 1;
    bench.run();
    CHECK(bench.hosts[1].from[1].received == 1);
    CHECK(bench.hosts[2].from[1].received == 1);
    CHECK(bench.hosts[0].from.empty());

    bench.hosts[2].lid = stranger;
    bench.hosts[2].to = 1;
    bench.hosts[2].most = 1;
    bench.run();
    bench.hosts[0].most = 2;
    bench.run();
    CHECK(bench.hosts[1].from[1].received == 1);
    CHECK(bench.hosts[2].from[1].received == 2);
}

TEST_CASE("a frame that came by a cable which closes a circle is not flooded on", "[unit][switch]") {
    Bench bench(Bench::ethernet());
    auto &left = bench.add_switch(ports(4)), &right = bench.add_switch(ports(4));
    auto& host = bench.add_host(left, 1);
    auto& other = bench.add_host(right, 1);
    bench.add_trunk(left, 2, right, 2);
    bench.add_trunk(left, 3, right, 3);
    left.set_tree(0b0110), right.set_tree(0b0110);
    host.to = 77;
    host.most = 3;
    bench.run();
    CHECK(other.from[host.lid].received == 3);
    CHECK(host.from.empty());

    right.set_tree(0b0010); // now it comes by a cable that the switch there has left out
    host.most = 6;
    bench.run();
    CHECK(other.from[host.lid].received == 3);
}

TEST_CASE("without timing a switch drops nothing, and senders wait for a host that takes nothing", "[unit][switch]") {
    auto untimed = Bench::ethernet();
    untimed.timed = false;
    Bench bench(untimed);
    auto config = ports(0);
    config.is_timed = false;
    config.latency = {};
    auto& target = make_incast(bench, 4, config);
    for (auto& host : bench.hosts)
        host.most = 5000;
    target.is_stalled = true;
    for (auto& host : bench.hosts)
        host.send(bench.now);
    bench.settle();
    CHECK(bench.ethernet_switches[0].waiting() >= 1024);
    CHECK(bench.ethernet_switches[0].waiting() < 4096);
    target.is_stalled = false;
    bench.settle();
    for (const auto& [lid, flow] : target.from) {
        CHECK(flow.is_in_order);
        CHECK(flow.received == 5000);
    }
    bench.check_balance();
}

TEST_CASE("what waits for a link that goes is dropped, and its senders are not paused for ever", "[unit][switch]") {
    Bench bench(Bench::ethernet());
    auto& target = make_incast(bench, 4, ports(0));
    for (auto& host : bench.hosts)
        host.send(bench.now);
    while (bench.now < 300us)
        REQUIRE(bench.step());
    REQUIRE(bench.ethernet_switches[0].waiting() > 0);
    target.wire->set_on(false, bench.now);
    while (bench.step()) {
    }
    CHECK(bench.ethernet_switches[0].waiting() == 0);
    CHECK(bench.now >= 1ms); // they went on until their end
    CHECK(bench.ethernet_switches[0].buffer().used() <= 4 * 4224);
}

TEST_CASE("frames that were to leave by a link that is down are counted at its port, and those without a way at none",
          "[unit][switch]") {
    const bool is_down = GENERATE(true, false);
    Bench bench(Bench::ethernet());
    auto& target = make_incast(bench, 1, ports(0));
    auto& device = bench.ethernet_switches[0];
    if (is_down)
        target.wire->set_on(false, bench.now);
    else
        device.set_ways(Bench::mac_of(target.lid), {});

    bench.run();

    CHECK(device.counters(1).unroutable > 0);
    CHECK(device.counters(2).no_link == (is_down ? device.counters(1).unroutable : 0));
    CHECK(target.from.empty());
}

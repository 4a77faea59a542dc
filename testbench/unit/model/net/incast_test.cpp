// Many hosts send to one through a switch: no packet is lost, each input gets its share, and others are not disturbed.
#include "testbench/unit/model/net/fabric_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace harness;
using Bench = FabricBench;

namespace {

constexpr double line_bytes_per_ps = 12.5e9 / 1e12; ///< 100 Gbit/s

/// So many senders at one switch, and behind them, at the last port, who receives.
Bench::Host& make_incast(Bench& bench, unsigned senders) {
    auto& middle = bench.add_switch(senders + 3);
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

std::uint32_t sent_by_all(const Bench& bench) {
    std::uint32_t sum = 0;
    for (const auto& host : bench.hosts)
        sum += host.sent;
    return sum;
}

} // namespace

TEST_CASE("an incast of a millisecond loses nothing, uses the whole line and is fair by port",
          "[unit][switch][credits]") {
    const auto senders = GENERATE(4u, 16u);
    Bench bench;
    auto& target = make_incast(bench, senders);

    bench.run();

    CHECK(bench.dropped() == 0);
    bench.check_balance();
    const auto end = static_cast<double>(bench.now.count());
    CHECK(static_cast<double>(bytes_of(target)) > 0.99 * line_bytes_per_ps * end);
    REQUIRE(target.from.size() == senders);
    for (const auto& [lid, flow] : target.from) {
        CHECK(flow.is_in_order);
        CHECK(flow.received == bench.hosts[lid - 1].sent);
        CHECK(static_cast<double>(flow.bytes) * senders > 0.95 * static_cast<double>(bytes_of(target)));
        CHECK(static_cast<double>(flow.bytes) * senders < 1.05 * static_cast<double>(bytes_of(target)));
    }
}

TEST_CASE("without flow control the same incast finds buffers full", "[unit][switch][credits]") {
    auto config = Bench::infiniband();
    config.credit_blocks = 0;
    Bench bench(config);
    make_incast(bench, 4);

    bench.run();

    CHECK(bench.dropped() > 1000);
    bench.check_balance();
}

TEST_CASE("a flow between other ports does not notice an incast", "[unit][switch][credits]") {
    const auto alone_and_beside = [](bool is_alone) {
        Bench bench;
        make_incast(bench, 4);
        auto& middle = bench.switches.front();
        auto& bystander = bench.add_host(middle, 6);
        auto& its_peer = bench.add_host(middle, 7);
        bystander.to = its_peer.lid;
        if (is_alone)
            for (unsigned i = 0; i < 4; ++i)
                bench.hosts[i].to = 0;
        bench.run();
        const auto& flow = its_peer.from.at(bystander.lid);
        CHECK(flow.is_in_order);
        return std::pair(flow.received, flow.longest);
    };

    CHECK(alone_and_beside(false) == alone_and_beside(true));
}

TEST_CASE("two switches in a row pass the pressure on to the sources", "[unit][switch][credits]") {
    const auto through_trunk = [](bool is_alone) {
        Bench bench;
        auto &first = bench.add_switch(8), &second = bench.add_switch(4);
        for (unsigned i = 1; i <= 4; ++i)
            bench.add_host(first, i);
        auto& target = bench.add_host(second, 1);
        auto& other = bench.add_host(second, 2);
        auto &bystander = bench.add_host(first, 5), &its_peer = bench.add_host(first, 6);
        auto& trunk = bench.add_trunk(first, 8, second, 4);
        for (const auto* far : {&target, &other})
            first.agent().set_route(far->lid, 8);
        for (const auto& host : bench.hosts)
            if (&host != &target && &host != &other)
                second.agent().set_route(host.lid, 4);
        if (!is_alone)
            for (unsigned i = 0; i < 4; ++i)
                bench.hosts[i].to = target.lid;
        other.to = target.lid; // has half of the target's line, so that the trunk is stopped half of the time
        bystander.to = its_peer.lid;

        bench.run();

        CHECK(bench.dropped() == 0);
        bench.check_balance();
        if (!is_alone) {
            CHECK(bytes_of(target) * 10 > target.from.at(other.lid).bytes * 19);
            CHECK(bytes_of(target) * 10 < target.from.at(other.lid).bytes * 22); // and what the others had under way
            CHECK(trunk.counters(0).waited > 400us);
            // An eighth of the line each, and what is under way at the end.
            for (unsigned i = 0; i < 4; ++i)
                CHECK(bench.hosts[i].sent < 3020 / 8 + 200);
        }
        const auto& flow = its_peer.from.at(bystander.lid);
        return std::pair(flow.received, flow.longest);
    };

    CHECK(through_trunk(false) == through_trunk(true));
}

TEST_CASE("one host that takes nothing stops an untimed switch for nobody else", "[unit][switch][credits]") {
    auto config = Bench::infiniband();
    config.timed = false;
    Bench bench(config);
    auto& middle = bench.add_switch(4);
    for (unsigned i = 1; i <= 4; ++i)
        bench.add_host(middle, i).payload = 256;
    auto &a = bench.hosts[0], &b = bench.hosts[1], &stalled = bench.hosts[2], &open = bench.hosts[3];
    a.to = stalled.lid;
    b.to = open.lid;
    a.most = b.most = 20'000;
    stalled.is_stalled = true;

    a.send({});
    bench.settle();
    b.send({});
    bench.settle();

    CHECK(open.from.at(b.lid).received == b.most);
    CHECK(a.sent < 2000); // the sender is stopped, and no buffer grows
    CHECK(stalled.from.empty());
    bench.check_balance();

    stalled.is_stalled = false;
    bench.settle();

    CHECK(a.sent == a.most);
    CHECK(stalled.from.at(a.lid).received == a.most);
    CHECK(stalled.from.at(a.lid).is_in_order);
    CHECK(bench.dropped() == 0);
    CHECK(middle.waiting() == 0);
    bench.check_balance();
}

TEST_CASE("a larger buffer is never slower, and the smallest one still moves everything", "[unit][switch][credits]") {
    std::uint64_t before = 0;
    for (const auto blocks : {66u, 132u, 264u, 528u, 1056u, 2112u}) {
        auto config = Bench::infiniband();
        config.credit_blocks = blocks;
        config.latency = 2us;
        Bench bench(config);
        auto& target = make_incast(bench, 2);
        bench.run();

        CHECK(bench.dropped() == 0);
        CHECK(sent_by_all(bench) == target.from.at(1).received + target.from.at(2).received);
        CHECK(bytes_of(target) >= before);
        before = bytes_of(target);
    }
}

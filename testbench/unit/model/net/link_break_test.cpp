// A cable that breaks, and is whole again.
#include "testbench/unit/model/net/link_bench.h"

using namespace harness;
using Changes = std::vector<std::pair<bool, Time>>;

TEST_CASE("what has not arrived when the cable breaks is lost, and both ends are told", "[unit][link]") {
    LinkBench b({.latency = nanoseconds{500}, .rate_gbps = 100});
    const auto out = b.send(0, 1, {}, 4096); // arrives at out + 500 ns
    b.send(0, 2, {}, 4096);
    b.send(1, 3, {}, 4096);
    b.send(1, 4, {}, 4096);

    b.link.plan_break(true, out + nanoseconds{500});
    b.clock.run(b.link);

    CHECK(b.ports[1].psns() == std::vector<std::uint32_t>{1});
    CHECK(b.ports[0].psns() == std::vector<std::uint32_t>{3});
    for (const auto end : {0u, 1u}) {
        CHECK(b.ports[end].changes == Changes{{false, out + nanoseconds{500}}});
        CHECK(b.link.counters(end).lost == 1);
        CHECK(b.link.counters(end).cut == 1);
        CHECK(b.link.under_way(end) == 0);
    }
    b.check_balance();
}

TEST_CASE("no packet is delivered ahead of now that a break was to take", "[unit][link]") {
    LinkBench b({.latency = nanoseconds{500}, .rate_gbps = 0});
    b.link.plan_break(true, nanoseconds{599});
    b.send(0, 1, nanoseconds{90}); // arrives at 590 ns
    b.send(0, 2, nanoseconds{100});
    b.clock.run(b.link);

    CHECK(b.ports[1].arrivals == std::vector<Arrival>{{1, nanoseconds{590}}});
    CHECK(b.link.counters(0).cut == 1);
}

TEST_CASE("nothing is sent over a broken cable, and what comes when it is whole again arrives", "[unit][link]") {
    LinkBench b({.latency = nanoseconds{500}, .rate_gbps = 100});
    b.link.plan_break(true, nanoseconds{1'000});
    b.link.plan_break(false, nanoseconds{3'000});
    b.clock.run(b.link, nanoseconds{2'000});
    b.send(0, 1, nanoseconds{2'000});
    CHECK(b.link.counters(0).discarded == 1);
    b.clock.run(b.link);
    b.send(0, 2, nanoseconds{3'000});
    b.clock.run(b.link);

    CHECK(b.ports[1].psns() == std::vector<std::uint32_t>{2});
    CHECK(b.ports[0].changes == Changes{{false, nanoseconds{1'000}}, {true, nanoseconds{3'000}}});
    b.check_balance();
}

TEST_CASE("a broken cable is up again only when both ends hold it, too", "[unit][link]") {
    LinkBench b({.latency = nanoseconds{500}, .rate_gbps = 100});
    b.link.plan_break(true, nanoseconds{1'000});
    b.link.plan_break(false, nanoseconds{3'000});
    b.clock.run(b.link, nanoseconds{2'000});
    b.link.end(0).set_on(false, nanoseconds{2'000});
    b.clock.run(b.link);
    CHECK(b.ports[1].changes == Changes{{false, nanoseconds{1'000}}});
    CHECK(b.link.end(0).set_on(true, nanoseconds{4'000}));
    b.clock.run(b.link);

    CHECK(b.ports[1].changes.back() == std::pair<bool, Time>{true, nanoseconds{4'000}});
}

TEST_CASE("an end that holds a broken cable does not have it up", "[unit][link]") {
    LinkBench b({.latency = nanoseconds{500}, .rate_gbps = 100});
    b.link.plan_break(true, nanoseconds{1'000});
    b.clock.run(b.link);
    CHECK_FALSE(b.link.end(0).set_on(false, nanoseconds{2'000}));
    CHECK_FALSE(b.link.end(0).set_on(true, nanoseconds{3'000}));
}

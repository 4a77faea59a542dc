// A link that an end lets go, and trains again.
#include "testbench/unit/model/net/link_bench.h"

using namespace harness;

TEST_CASE("a link is up while neither end has let it go, and the other end hears of it", "[unit][link]") {
    LinkBench b({.timed = false});
    using Changes = std::vector<std::pair<bool, Time>>;

    CHECK_FALSE(b.link.end(0).set_on(false, nanoseconds{1}));
    CHECK_FALSE(b.link.end(1).set_on(false, nanoseconds{2}));
    CHECK_FALSE(b.link.end(0).set_on(true, nanoseconds{3})); // the other one is off still
    CHECK(b.link.end(1).set_on(true, nanoseconds{4}));
    b.link.pump({});

    CHECK(b.ports[1].changes == Changes{{false, nanoseconds{1}}});
    CHECK(b.ports[0].changes == Changes{{true, nanoseconds{4}}});
}

TEST_CASE("nothing is sent while the link is down; what had left before arrives", "[unit][link]") {
    LinkBench b({.latency = nanoseconds{500}, .rate_gbps = 100});
    const auto out = b.send(0, 1, {}, 4096);
    b.send(0, 2, {}, 4096); // waits for the first
    b.send(1, 3, {}, 4096);

    b.link.end(0).set_on(false, out);
    b.send(0, 4, out);
    b.send(1, 5, out);
    b.clock.run(b.link);

    CHECK(b.ports[1].psns() == std::vector<std::uint32_t>{1});
    CHECK(b.ports[0].psns() == std::vector<std::uint32_t>{3});
    CHECK(b.link.counters(0).lost == 1);
    CHECK(b.link.counters(0).discarded == 1);
    CHECK(b.link.counters(1).discarded == 1);
    b.check_balance();
    b.link.end(0).set_on(true, 2 * out);
    b.send(1, 6, 2 * out);
    b.clock.run(b.link);
    CHECK(b.ports[0].psns() == std::vector<std::uint32_t>{3, 6});
    CHECK(b.ports[1].changes.size() == 2);
}

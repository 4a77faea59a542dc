#include "testbench/scenario/accounts.h"

#include "model/time/cache.h"
#include "model/time/line.h"
#include "model/time/server.h"

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;
using namespace model::time;

TEST_CASE("a device's resources become rows, its caches stand among the caches", "[unit][scenario][time]") {
    Server dies{"dies", 2, 50us};
    Line channel{"channel", 1'000'000'000};
    Cache map{"map", {.entries = 4, .ways = 4}};
    for (unsigned i = 0; i < 3; ++i)
        channel.use(dies.use(0us).done, 1000);
    map.use(1, 0us, [](model::port::Time begin) { return begin + 1us; });
    map.use(1, 500ns, [](model::port::Time begin) { return begin; });
    const std::array accounts{dies.account(), channel.account(), map.account()};

    scenario::Result result;
    scenario::add_accounts("A.nvme0", accounts, 100us, result);

    REQUIRE(result.resources.size() == 2);
    CHECK(result.resources[0].name == "A.nvme0 dies");
    CHECK(result.resources[0].kind == "server");
    CHECK(result.resources[0].units == 2);
    CHECK(result.resources[0].busy_ps == 150'000'000);
    CHECK(result.resources[0].load == 0.75);
    CHECK(result.resources[0].waited_ps == 50'000'000);
    CHECK(result.resources[1].kind == "line");
    CHECK(result.resources[1].bytes == 3000);
    REQUIRE(result.caches.size() == 1);
    CHECK(result.caches[0].name == "A.nvme0 map");
    CHECK(result.caches[0].hits == 1);
    CHECK(result.caches[0].misses == 1);
    REQUIRE(result.bottlenecks.size() == 1);
    CHECK(result.bottlenecks[0].busiest == "dies");
    CHECK(result.bottlenecks[0].waited_for == "dies");
}

TEST_CASE("a load is never above one, and nothing is said of resources that nobody used", "[unit][scenario][time]") {
    Server dies{"dies", 1, 50us};
    scenario::Result result;
    scenario::add_accounts("A.nvme0", std::array{dies.account()}, 10us, result);
    CHECK(result.resources.empty());
    CHECK(result.bottlenecks.empty());

    dies.use(0us); // goes on behind the end of the run
    scenario::add_accounts("A.nvme0", std::array{dies.account()}, 10us, result);

    CHECK(result.resources.at(0).load == 1);
    CHECK(result.bottlenecks.at(0).waited_for.empty());
}

TEST_CASE("equal resources are one row together", "[unit][time]") {
    std::array channels{Line{"channel 0", 1'000'000'000}, Line{"channel 1", 1'000'000'000}};
    channels[0].use(0us, 1000);
    channels[1].use(0us, 2000);
    channels[1].use(1us, 1000);

    const auto all = sum("channels", channels);

    CHECK(all.name == "channels");
    CHECK(all.kind == Kind::line);
    CHECK(all.units == 2);
    CHECK(all.bytes == 4000);
    CHECK(all.usage.uses == 3);
    CHECK(all.usage.busy == 4us);
    CHECK(all.usage.waited == 1us);
    CHECK(all.usage.longest_wait == 1us);
    CHECK(all.load(8us) == 0.25);
}

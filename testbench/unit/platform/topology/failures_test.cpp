// When cables break and are whole again, and when tables are written.
#include "platform/topology/failures.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <utility>

using namespace platform::topology;
using namespace std::chrono_literals;
using model::port::Time;

namespace {

struct TestClock final : model::port::Clock {
    Time time{}, next = model::port::never;
    Time now() const override { return time; }
    void wake_at(Time at) override { next = std::min(next, at); }
};

struct Bench {
    explicit Bench(std::vector<Failure> list, Time reroute = 10us) : reroute_time(reroute) {
        platform.cables.resize(3);
        platform.failures = std::move(list);
    }
    std::vector<Failures::Change> begin(Time origin = {}) {
        auto changes = failures.begin(origin);
        while (clock.next != model::port::never) {
            clock.time = std::exchange(clock.next, model::port::never);
            failures.wake(clock.time);
        }
        return changes;
    }
    Time reroute_time;
    Description platform;
    TestClock clock;
    std::vector<std::pair<Time, std::vector<bool>>> sweeps;
    Failures failures{platform, reroute_time, clock,
                      [this](const std::vector<bool>& dead) { sweeps.emplace_back(clock.time, dead); }};
};

using Changes = std::vector<Failures::Change>;
using Dead = std::vector<bool>;

} // namespace

TEST_CASE("failures count from their origin, and tables follow after a time", "[unit][topology]") {
    Bench bench({{.name = "a", .cables = {1}, .at = 5us, .until = 50us}});

    CHECK(bench.begin(100us) == Changes{{1, true, 105us}, {1, false, 150us}});
    REQUIRE(bench.sweeps.size() == 2);
    CHECK(bench.sweeps[0] == std::pair{Time{115us}, Dead{false, true, false}});
    CHECK(bench.sweeps[1] == std::pair{Time{160us}, Dead{false, false, false}});
}

TEST_CASE("what two failures break is whole when both are over", "[unit][topology]") {
    Bench bench({{.name = "a", .cables = {0, 1}, .at = 1us, .until = 20us},
                 {.name = "b", .cables = {1}, .at = 10us, .until = 30us}});

    CHECK(bench.begin() == Changes{{0, true, 1us}, {1, true, 1us}, {0, false, 20us}, {1, false, 30us}});
}

TEST_CASE("a failure that begins when another ends breaks nothing anew", "[unit][topology]") {
    Bench bench({{.name = "a", .cables = {2}, .at = 1us, .until = 2us}, {.name = "b", .cables = {2}, .at = 2us}});

    CHECK(bench.begin() == Changes{{2, true, 1us}});
    CHECK(bench.sweeps.size() == 1);
}

TEST_CASE("tables go by what is broken when they are written", "[unit][topology]") {
    Bench bench({{.name = "a", .cables = {0}, .at = 1us, .until = 5us}, {.name = "b", .cables = {1}, .at = 1us}});

    bench.begin();
    REQUIRE(bench.sweeps.size() == 2);
    CHECK(bench.sweeps[0] == std::pair{Time{11us}, Dead{false, true, false}});
    CHECK(bench.sweeps[1] == std::pair{Time{15us}, Dead{false, true, false}});
}

TEST_CASE("a cable that is never repaired says nothing of the next one", "[unit][topology]") {
    Bench bench({{.name = "a", .cables = {0}, .at = 1us}, {.name = "b", .cables = {1}, .at = 2us, .until = 3us}});

    CHECK(bench.begin() == Changes{{0, true, 1us}, {1, true, 2us}, {1, false, 3us}});
}

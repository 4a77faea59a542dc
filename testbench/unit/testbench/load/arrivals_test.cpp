#include "testbench/load/arrivals.h"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace load;
using model::port::Time;
using platform::topology::TrafficArrivals;

namespace {

Work work(TrafficArrivals arrivals, double rate, std::uint32_t queue_pairs) {
    Work made;
    made.how.arrivals = arrivals;
    made.how.rate = rate;
    made.queue_pairs = queue_pairs;
    return made;
}

} // namespace

TEST_CASE("at fixed intervals the queue pairs of a flow take turns at its rate", "[unit][load]") {
    const auto fixed = work(TrafficArrivals::fixed, 1e6, 4); // a message each microsecond
    Random random(1);

    for (std::uint64_t turn = 0; turn < 4; ++turn)
        CHECK(first_gap(fixed, random, turn) == std::chrono::microseconds{turn + 1});
    CHECK(next_gap(fixed, random) == std::chrono::microseconds{4});
}

TEST_CASE("arrivals that are drawn have the rate, and gaps whose deviation is their mean", "[unit][load]") {
    const auto drawn = work(TrafficArrivals::poisson, 2e6, 1);
    Random random(3);
    double sum = 0, squares = 0;
    constexpr int count = 200'000;

    for (int i = 0; i < count; ++i) {
        const auto gap = static_cast<double>(next_gap(drawn, random).count()) / 1000;
        REQUIRE(gap >= 0);
        sum += gap, squares += gap * gap;
    }

    const auto mean = sum / count, deviation = std::sqrt(squares / count - mean * mean);
    CHECK(std::abs(mean - 500) < 5); // nanoseconds
    CHECK(std::abs(deviation - 500) < 10);
}

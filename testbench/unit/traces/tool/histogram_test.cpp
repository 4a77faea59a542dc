#include "traces/tool/histogram.h"

#include <catch2/catch_test_macros.hpp>

using traces::tool::Histogram;

TEST_CASE("two histograms together have the percentiles of all values", "[unit][trace-tool]") {
    Histogram low, high, all, empty;
    for (std::int64_t i = 1; i <= 1000; ++i) {
        (i % 3 == 0 ? high : low).add(i * i);
        all.add(i * i);
    }

    low += empty;
    low += high;

    CHECK(low.count() == 1000);
    CHECK(low.least() == 1);
    CHECK(low.most() == 1'000'000);
    for (const double percent : {1.0, 50.0, 90.0, 99.9, 100.0})
        CHECK(low.percentile(percent) == all.percentile(percent));
    empty += high;
    CHECK(empty.least() == 9);
    CHECK(empty.most() == 998'001);
    CHECK(empty.count() == 333);
}

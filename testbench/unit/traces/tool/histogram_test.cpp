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

TEST_CASE("values count the same in whichever order they come, and take room for their own span only",
          "[unit][trace-tool]") {
    Histogram rising, falling;
    for (std::int64_t i = 0; i < 1000; ++i) {
        rising.add(1'000'000 + 100 * i);
        falling.add(1'000'000 + 100 * (999 - i));
    }

    CHECK(falling.parts().counts == rising.parts().counts);
    CHECK(falling.parts().first == rising.parts().first);
    CHECK(rising.parts().counts.size() < 64); // a tenth of a power of two, which has 128 parts
    for (const double percent : {0.1, 50.0, 99.9})
        CHECK(falling.percentile(percent) == rising.percentile(percent));

    const auto again = Histogram::made_of(falling.parts(), falling.least(), falling.most());
    CHECK(again.count() == 1000);
    CHECK(again.percentile(50) == falling.percentile(50));
    falling.add(0);
    CHECK(falling.percentile(0.01) == 0);
    CHECK(falling.percentile(100) == rising.most());
}

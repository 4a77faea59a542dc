#include "testbench/study/statistics.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <array>

using Catch::Approx;

TEST_CASE("the interval of a mean is Student's", "[unit][study]") {
    const std::array values{10.0, 12.0, 11.0, 13.0};

    const auto summary = study::summarise(values, 0.95);

    // t of 3 degrees at 0.975 is 3.18245 (tables); the deviation is sqrt(5/3).
    CHECK(summary.mean == 11.5);
    CHECK(summary.deviation == Approx(1.290994).epsilon(1e-6));
    CHECK(summary.half_width == Approx(3.18245 * 1.290994 / 2).epsilon(1e-5));
    CHECK(summary.least == 10);
    CHECK(summary.most == 13);
    CHECK(study::summarise(values, 0.5).half_width == Approx(0.764892 * 1.290994 / 2).epsilon(1e-5));
}

TEST_CASE("one value has no interval, and none has nothing", "[unit][study]") {
    const std::array one{7.0};

    CHECK(study::summarise(one, 0.95).half_width == 0);
    CHECK(study::summarise(one, 0.95).mean == 7);
    CHECK(study::summarise({}, 0.95).count == 0);
}

TEST_CASE("the chance of a ratio of variances is Fisher's", "[unit][study]") {
    CHECK(study::chance_of_ratio(4.9646, 1, 10) == Approx(0.05).epsilon(1e-3)); // tables of F
    CHECK(study::chance_of_ratio(0, 2, 10) == Approx(1));
}

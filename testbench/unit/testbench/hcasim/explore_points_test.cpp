#include "testbench/hcasim/explore_points.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <set>

using namespace hcasim;
using scenario::race::Outcome;

namespace {

Outcome transfer(std::uint64_t points, scenario::race::Touches touches) {
    Outcome outcome;
    outcome.points = points;
    outcome.touches = touches;
    return outcome;
}

ExploreOptions with_points(std::uint64_t points) {
    ExploreOptions options;
    options.points = points;
    return options;
}

} // namespace

TEST_CASE("most points of a row lie between the first touch of the memory and the last", "[unit][hcasim][explore]") {
    const auto options = with_points(12);

    const auto points = points_of(options, transfer(200, {.count = 20, .first = 30, .last = 150}), 4);

    CHECK(points.size() == 12);
    const auto inside =
        std::ranges::count_if(points, [](const Point& one) { return one.event >= 30 && one.event < 150; });
    CHECK(inside == 8);
    CHECK(std::ranges::count_if(points, [](const Point& one) { return one.event < 30; }) == 4);
    CHECK(std::ranges::count(points, true, &Point::is_late) == 4);
}

TEST_CASE("rows have points of their own, so that many rows see every one", "[unit][hcasim][explore]") {
    const auto options = with_points(12);
    const auto outcome = transfer(60, {.count = 10, .first = 10, .last = 50});
    std::set<std::uint64_t> seen;

    for (std::size_t row = 0; row < 24; ++row)
        for (const auto& point : points_of(options, outcome, row))
            seen.insert(point.event);

    CHECK(seen.size() == 50);
    CHECK(points_of(options, outcome, 7) == points_of(options, outcome, 7));
}

TEST_CASE("a transfer that touches the memory once has points before", "[unit][hcasim][explore]") {
    for (std::size_t row = 0; row < 10; ++row) {
        const auto points = points_of(with_points(3), transfer(40, {.count = 1, .first = 30, .last = 30}), row);

        CHECK(points.size() == 3);
        CHECK(std::ranges::any_of(points, [](const Point& one) { return one.event >= 15 && one.event < 30; }));
    }
}

TEST_CASE("one point more is at the time of a translation, and one at a switch that sends on",
          "[unit][hcasim][explore]") {
    const auto outcome =
        transfer(60, {.count = 10, .first = 10, .last = 50, .translations = {10, 30, 50}, .forwards = {12, 32}});
    std::set<std::uint64_t> translations, forwards;

    for (std::size_t row = 0; row < 24; ++row) {
        const auto points = points_of(with_points(6), outcome, row);
        REQUIRE(points.size() == 8);
        CHECK(points[6].is_late);
        CHECK_FALSE(points[7].is_late);
        translations.insert(points[6].event);
        forwards.insert(points[7].event);
    }

    CHECK(translations == std::set<std::uint64_t>{10, 30, 50});
    CHECK(forwards == std::set<std::uint64_t>{12, 32});
}

TEST_CASE("each so-many-th point, or one alone, is what was asked for", "[unit][hcasim][explore]") {
    const auto outcome = transfer(10, {.count = 3, .first = 2, .last = 8});

    ExploreOptions each, one, beyond;
    each.every = 4;
    one.at = 9;
    one.is_late = true;
    beyond.at = 10;

    CHECK(points_of(each, outcome, 0) == std::vector<Point>{{0, false}, {4, false}, {8, false}});
    CHECK(points_of(one, outcome, 0) == std::vector<Point>{{9, true}});
    CHECK(points_of(beyond, outcome, 0).empty());
}

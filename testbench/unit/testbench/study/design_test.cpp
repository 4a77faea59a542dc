#include "testbench/study/design.h"

#include "testbench/unit/testbench/study/made.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <set>

TEST_CASE("a grid has each combination once, the last axis fastest", "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 2}), made::axis("b", {3, 4, 5})});

    const auto all = study::first_round(study);

    REQUIRE(all.size() == 6);
    CHECK(study::print(all[0]) == "a=1 b=3");
    CHECK(study::print(all[1]) == "a=1 b=4");
    CHECK(study::print(all[5]) == "a=2 b=5");
    CHECK(study::count_of_design(study) == 6);
}

TEST_CASE("one at a time begins with the base", "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 2}), made::axis("b", {3})});
    study.design = study::Design::one_at_a_time;

    const auto all = study::first_round(study);

    REQUIRE(all.size() == 4);
    CHECK(all[0].empty());
    CHECK(study::print(all[3]) == "b=3");
}

TEST_CASE("a Latin hypercube has one point in each part of each axis", "[unit][study]") {
    auto study = made::study({made::axis("a", {0, 1'000'000}, study::Spacing::linear), made::axis("b", {1, 1 << 20})});
    study.design = study::Design::latin_hypercube;
    study.drawn_points = 37;
    for (const auto seed : {1u, 2u, 3u}) {
        study.drawn_seed = seed;

        const auto all = study::first_round(study);

        REQUIRE(all.size() == 37);
        std::set<int> linear, logarithmic;
        for (const auto& one : all) {
            linear.insert(static_cast<int>(std::stod(one[0].value) / 1'000'000 * 37));
            logarithmic.insert(static_cast<int>(std::log2(std::stod(one[1].value)) / 20 * 37));
        }
        CHECK(linear.size() == 37);
        CHECK(logarithmic.size() > 30); // small whole numbers stand for a whole part
    }
    const auto third = study::first_round(study);
    CHECK(third == study::first_round(study));
    study.drawn_seed = 4;
    CHECK(third != study::first_round(study));
}

TEST_CASE("a constraint of keys leaves points out by the product of their values", "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 2, 4}), made::axis("b", {1, 8})});
    study.constraints = {{.metric = {}, .keys = {"a", "b"}, .at_least = {}, .at_most = 8, .where = {}}};

    const auto all = study::first_round(study);

    CHECK(std::ranges::none_of(all, [](const auto& one) { return study::print(one) == "a=2 b=8"; }));
    CHECK(all.size() == 4);
}

TEST_CASE("the middle of two values is on the axis's scale, and there is none between neighbours", "[unit][study]") {
    const auto logarithmic = made::axis("a", {1, 1024}), linear = made::axis("a", {1, 1024}, study::Spacing::linear);
    auto powers = logarithmic;
    powers.is_power_of_two = true;
    const auto sizes = study::Axis{.key = "s", .kind = platform::topology::Kind::size};

    CHECK(study::middle(logarithmic, "4", "64") == "16");
    CHECK(study::middle(linear, "4", "64") == "34");
    CHECK(!study::middle(logarithmic, "4", "5"));
    CHECK(study::middle(powers, "4", "64") == "16");
    CHECK(!study::middle(powers, "4", "8"));
    CHECK(study::middle(sizes, "1 KiB", "4 KiB") == "2 KiB");
    CHECK(study::coordinate(sizes, "2 KiB") == 2048);
    CHECK(study::coordinate({.key = "t", .kind = platform::topology::Kind::time}, "2 us") == 2000);
}

TEST_CASE("settings are those of a point where each axis has a value of its key", "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 4}), made::axis("b", {3})});
    study.refinement.budget = "work";
    const auto fault = [&](study::Settings settings) { return study::fault_of(study, settings).value_or(""); };

    CHECK(fault({{"a", "1"}, {"b", "3"}}).empty());
    CHECK(fault({{"a", "2"}, {"b", "3"}, {"work", "100"}}).empty()); // refined, with a budget
    CHECK(fault({{"a", "1"}}) == "it has values of 1 axes, and the study has 2");
    CHECK(fault({{"a", "1"}, {"a", "1"}}) == "'a' is there twice");
    CHECK(fault({{"a", "many"}, {"b", "3"}}) == "'many' is no value of 'a'");
    CHECK(fault({{"a", "1"}, {"b", "3"}, {"c", "1"}}) == "'c' is no axis of the study");

    study.design = study::Design::one_at_a_time;
    CHECK(fault({}).empty());
    CHECK(fault({{"b", "3"}}).empty());
    CHECK_FALSE(fault({{"a", "1"}, {"b", "3"}}).empty());
    study.axes[0].kind = platform::topology::Kind::text;
    CHECK(fault({{"a", "2"}}) == "'2' is no value of 'a'");
}

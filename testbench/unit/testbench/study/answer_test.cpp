#include "testbench/study/answer.h"

#include "testbench/unit/testbench/study/made.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

namespace {

bool is_said(const std::vector<std::string>& sentences, std::string_view part) {
    return std::ranges::any_of(sentences, [&](const auto& one) { return one.contains(part); });
}

/// "m" is ten times the axis.
std::vector<study::Outcome> outcomes() {
    std::vector<study::Outcome> all;
    for (const auto* value : {"1", "4"})
        all.push_back(made::outcome({.number = all.size(), .settings = {{"a", value}}}, 10 * std::stod(value)));
    return all;
}

} // namespace

TEST_CASE("what was published of a place is held against it, at either end of its band", "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 4})});
    study.published = {{.metric = "m", .at = {{"a", "4"}}, .from = 40, .to = 50, .source = "ours"}};
    CHECK(
        is_said(study::answer(study, outcomes()), "m at a=4 is 40. Published is 40 to 50 (ours): it is in this band."));

    study.published.front().from = 41;
    CHECK(is_said(study::answer(study, outcomes()), "it is outside of this band."));

    study.published.front() = {.metric = "m", .at = {{"a", "4"}}, .from = 30, .to = 40, .source = "ours"};
    CHECK(is_said(study::answer(study, outcomes()), "it is in this band."));

    study.published.front().to = 39;
    CHECK(is_said(study::answer(study, outcomes()), "it is outside of this band."));
}

TEST_CASE("what was published as a ratio is held against a ratio", "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 4})});
    study.published = {{.metric = "m", .at = {{"a", "4"}}, .over = {{"a", "1"}}, .from = 4, .to = 4, .source = "ours"}};

    CHECK(is_said(study::answer(study, outcomes()),
                  "m at a=4 is 4 of that at a=1. Published is 4 (ours): it is in this band."));
}

TEST_CASE("a place whose points have failed is not held against anything", "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 4})});
    study.published = {
        {.metric = "m", .at = {{"a", "4"}}, .over = {{"a", "1"}}, .from = 0, .to = 100, .source = "ours"}};
    auto all = outcomes();
    all.front().status = study::Status::failed;
    all.front().metrics.clear();

    CHECK(is_said(study::answer(study, all), "m at a=4 (ours) cannot be held against anything"));
    CHECK(!is_said(study::answer(study, all), "band"));
}

TEST_CASE("a published knee that is not there is outside of its band", "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 4})});
    study.refinement = {.way = study::Refinement::Way::knee, .metric = "m", .along = "a"};
    study.expected = study::Expectation{.from = 1, .to = 4, .source = "ours", .at = {}};

    CHECK(is_said(study::answer(study, outcomes()), "Published is 1 to 4 (ours): it is outside of this band."));
}

TEST_CASE("a study of which nothing is known says so", "[unit][study]") {
    const auto study = made::study({made::axis("a", {1, 2})});
    CHECK(study::answer(study, {}) == std::vector<std::string>{"No point has been run yet."});

    auto bare = study;
    bare.metrics.clear();
    const std::vector alone{made::outcome({0, 0, {{"a", "1"}}, 0}, 1)};
    CHECK(study::answer(bare, alone) ==
          std::vector<std::string>{"Nothing follows from 1 point: there is nothing to compare."});
}

TEST_CASE("what is the same everywhere is not called best and worst", "[unit][study]") {
    const auto study = made::study({made::axis("a", {1, 4})});

    CHECK(is_said(study::answer(study, outcomes()), "m is best with 40 at a=4, and worst with 10 at a=1."));
    CHECK(is_said(study::answer(study, outcomes()), "n is 0 everywhere."));
    CHECK(!is_said(study::answer(study, outcomes()), "n is best"));
    CHECK(is_said(study::answer(study, std::vector{outcomes().back()}), "m is 40 at a=4."));
}

TEST_CASE("places that are as good as the best one are counted", "[unit][study]") {
    const auto study = made::study({made::axis("a", {1, 2, 3})});
    std::vector<study::Outcome> all;
    for (const auto& [value, m] : {std::pair{"1", 5.0}, {"2", 7.0}, {"3", 7.0}})
        all.push_back(made::outcome({.number = all.size(), .settings = {{"a", value}}}, m));

    CHECK(is_said(study::answer(study, all), "m is best with 7 at a=2 and 1 other place, and worst with 5 at a=1."));
}

TEST_CASE("a difference within what seeds make is said to be one", "[unit][study]") {
    const auto study = made::study({made::axis("a", {1, 2})});
    std::vector<study::Outcome> all;
    const auto add = [&](const char* value, unsigned repetition, double m) {
        all.push_back(made::outcome({.number = all.size(), .settings = {{"a", value}}, .repetition = repetition}, m));
    };
    for (const unsigned i : {0u, 1u, 2u}) {
        add("1", i, 100 + i);
        add("2", i, 100.5 + i);
    }
    CHECK(is_said(study::answer(study, all), "at a=1: no more than their seeds make them differ."));
    all.clear();
    for (const unsigned i : {0u, 1u, 2u}) {
        add("1", i, 100 + i);
        add("2", i, 200 + i);
    }
    CHECK(!is_said(study::answer(study, all), "no more than their seeds"));
}

TEST_CASE("constraints say how many places they leave, and of none why", "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 4})});
    study.constraints = {{.metric = "m", .at_most = 20}};
    const auto some = study::answer(study, outcomes());
    CHECK(is_said(some, "1 of 2 places satisfy m at most 20; what is best and worst is among these."));
    CHECK(is_said(some, "m is 10 at a=1."));

    study.constraints = {{.metric = "m", .at_least = 50, .at_most = 60}};
    const auto none = study::answer(study, outcomes());
    CHECK(is_said(none, "No place satisfies m at least 50 and at most 60: m is 10 to 40."));
    CHECK(!is_said(none, "is best"));
}

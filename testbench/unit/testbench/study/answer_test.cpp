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
          std::vector<std::string>{"Nothing follows from one point: there is nothing to compare."});
}

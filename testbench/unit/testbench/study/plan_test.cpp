#include "testbench/harness/seed.h"
#include "testbench/study/plan.h"

#include "testbench/study/knee.h"
#include "testbench/study/pareto.h"
#include "testbench/unit/testbench/study/made.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <functional>
#include <random>

namespace {

using Model = std::function<study::Outcome(const study::Point&)>;

/// All points that a sweep comes to.
std::vector<study::Outcome> sweep(const study::Study& study, const Model& model) {
    std::vector<study::Outcome> done;
    for (unsigned turn = 0; turn < 1000; ++turn) {
        const auto batch = study::next_batch(study, done);
        if (batch.points.empty()) {
            CHECK(!batch.end.empty());
            return done;
        }
        for (const auto& point : batch.points) {
            CHECK(point.number == done.size());
            done.push_back(model(point));
        }
    }
    FAIL("a sweep without an end");
    return done;
}

double value(const study::Point& point, std::string_view key) {
    return std::stod(std::ranges::find(point.settings, key, &study::Setting::key)->value);
}

study::Study knee_study(bool is_more_better = true) {
    auto study = made::study({made::axis("a", {1, 16, 256, 4096}), made::axis("b", {100, 300})});
    study.refinement = {.way = study::Refinement::Way::knee,
                        .metric = is_more_better ? "m" : "n",
                        .along = "a",
                        .drop = 0.05,
                        .until = 1.02};
    return study;
}

/// Falls when `a` passes `b`, the metric "n" rises.
study::Outcome cliff(const study::Point& point) {
    const auto a = value(point, "a"), b = value(point, "b");
    return made::outcome(point, a <= b ? 10 : 10 * b / a, a <= b ? 1 : a / b);
}

} // namespace

TEST_CASE("a knee is bisected until its ends are near, with few points", "[unit][study]") {
    for (const bool is_more_better : {true, false}) {
        const auto study = knee_study(is_more_better);

        const auto done = sweep(study, cliff);

        const auto knees = study::knees_of(study, study::cells_of(study, done));
        REQUIRE(knees.size() == 2);
        for (const auto& knee : knees) {
            const auto cache = std::stod(knee.others.front().value);
            // 5 % worse is where a is b / 0.95.
            CHECK(knee.from <= cache / 0.95);
            CHECK(knee.to >= cache / 0.95 - 1);
            CHECK(knee.to / knee.from <= 1.02);
            CHECK(knee.to - knee.from > (cache > 200 ? 1.5 : 0)); // and no nearer than that
        }
        CHECK(done.size() < 8 + 2 * 12);
        CHECK(done.back().point.settings.front().key == "a");
    }
}

TEST_CASE("a curve that never falls has no knee, and is not refined", "[unit][study]") {
    const auto study = knee_study();

    const auto done = sweep(study, [](const study::Point& point) { return made::outcome(point, 5); });

    CHECK(done.size() == 8);
}

TEST_CASE("a middle that fails is not asked for again", "[unit][study]") {
    const auto study = knee_study();

    const auto done = sweep(study, [](const study::Point& point) {
        auto outcome = cliff(point);
        if (point.round == 1) {
            outcome.status = study::Status::crashed;
            outcome.metrics.clear();
        }
        return outcome;
    });

    CHECK(done.size() == 8 + 2);
}

TEST_CASE("who plans from part of the outcomes comes to the same points", "[unit][study]") {
    auto study = knee_study();
    study.repetitions = 3;
    const auto done = sweep(study, cliff);
    std::size_t at = 0;
    while (at != done.size()) {
        const auto batch = study::next_batch(study, std::span(done).first(at));
        REQUIRE(!batch.points.empty());
        for (const auto& point : batch.points) {
            CHECK(point.settings == done[at].point.settings);
            CHECK(point.repetition == done[at].point.repetition);
            ++at;
        }
    }
}

TEST_CASE("halving keeps the better ones, each time with more budget, until one is left", "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 2, 3, 4, 5, 6, 7, 8}, study::Spacing::linear)});
    study.refinement = {.way = study::Refinement::Way::halving,
                        .metric = "m",
                        .keep = 0.5,
                        .budget = "c",
                        .budget_from = 100,
                        .factor = 3};

    const auto done = sweep(study, [](const study::Point& point) {
        // With little budget the best one looks like the second best.
        const auto a = value(point, "a"), c = value(point, "c");
        return made::outcome(point, a == 5 && c < 300 ? 7.5 : a == 5 ? 100 : a);
    });

    REQUIRE(done.size() == 8 + 4 + 2 + 1);
    CHECK(study::print(done[8].point.settings) == "a=8 c=300");
    CHECK(study::print(done.back().point.settings) == "a=5 c=2700");
}

TEST_CASE("repetitions are added where the interval is wide, and only there", "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 2})});
    study.repetitions = 2;
    study.stop.relative_error = 0.1;
    study.stop.most_repetitions = 6;

    const auto done = sweep(study, [](const study::Point& point) {
        return made::outcome(point, value(point, "a") == 1 ? 5 : point.repetition % 2 == 0 ? 1 : 9);
    });

    CHECK(done.size() == 2 + 6);
}

TEST_CASE("a sweep stops at so many points, or at so many that have failed", "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 2, 3, 4, 5, 6, 7, 8}, study::Spacing::linear)});
    study.stop.points = 5;
    CHECK(sweep(study, [](const study::Point& point) { return made::outcome(point, 1); }).size() == 5);

    std::vector<int> many;
    for (int i = 1; i <= 100; ++i)
        many.push_back(i);
    study = made::study({made::axis("a", many, study::Spacing::linear)});
    study.stop.failures = 3;
    const auto done = sweep(study, [](const study::Point& point) {
        auto outcome = made::outcome(point, 1);
        outcome.status = point.number % 10 == 0 ? study::Status::failed : study::Status::done;
        return outcome;
    });
    CHECK(done.size() == 32); // it is looked at every 16
}

TEST_CASE("no place of a Pareto front is beaten, and each other one is", "[unit][study]") {
    const auto seed = testbench::random_seed();
    INFO("HCA_SEED=" << seed);
    std::mt19937 source(seed);
    std::vector<int> values;
    for (int i = 0; i < 60; ++i)
        values.push_back(i);
    auto study = made::study({made::axis("a", values, study::Spacing::linear)});
    study.objectives = {"m", "n"};
    study.constraints = {{.metric = "m", .keys = {}, .at_least = {}, .at_most = 18, .where = {}}};
    const auto done = sweep(study, [&](const study::Point& point) {
        return made::outcome(point, static_cast<double>(source() % 20), static_cast<double>(source() % 20));
    });
    const auto cells = study::cells_of(study, done);

    const auto front = study::pareto_front(study, cells);

    const auto beats = [](const study::Cell& x, const study::Cell& y) {
        const auto m = x.metric("m")->mean - y.metric("m")->mean, n = y.metric("n")->mean - x.metric("n")->mean;
        return m >= 0 && n >= 0 && (m > 0 || n > 0);
    };
    for (const auto& cell : cells) {
        const bool is_able = cell.metric("m")->mean <= 18;
        const bool is_beaten = std::ranges::any_of(
            cells, [&](const auto& other) { return other.metric("m")->mean <= 18 && beats(other, cell); });
        CHECK((std::ranges::find(front, &cell) != front.end()) == (is_able && !is_beaten));
    }
}

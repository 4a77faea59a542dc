#include "testbench/study/effects.h"

#include "testbench/unit/testbench/study/made.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <functional>

using Catch::Approx;

namespace {

std::vector<study::Outcome> run(const study::Study& study, const std::vector<study::Settings>& all,
                                const std::function<double(double, double, unsigned)>& value) {
    std::vector<study::Outcome> outcomes;
    for (unsigned repetition = 0; repetition < study.repetitions; ++repetition)
        for (const auto& settings : all)
            outcomes.push_back(
                made::outcome({outcomes.size(), 0, settings, repetition},
                              value(std::stod(settings.at(0).value),
                                    settings.size() > 1 ? std::stod(settings[1].value) : 0, repetition)));
    return outcomes;
}

const study::Effect& of(const study::Effects& effects, const std::vector<std::string>& axes) {
    for (const auto& one : effects.all)
        if (one.axes == axes)
            return one;
    throw std::out_of_range("no such effect");
}

std::vector<study::Settings> grid() {
    std::vector<study::Settings> all;
    for (const auto* a : {"-1", "1"})
        for (const auto* b : {"-1", "1"})
            all.push_back({{"a", a}, {"b", b}});
    return all;
}

study::Study two_axes() {
    return made::study(
        {made::axis("a", {-1, 1}, study::Spacing::linear), made::axis("b", {-1, 1}, study::Spacing::linear)});
}

} // namespace

TEST_CASE("shares of a grid are those of its terms", "[unit][study]") {
    // y = 3 a + 2 b + a b + noise of one: sums of squares 9, 4, 1 and 1/4 of each of 8 values.
    auto study = two_axes();
    study.repetitions = 2;
    const auto outcomes = run(
        study, grid(), [](double a, double b, unsigned r) { return 3 * a + 2 * b + a * b + (r == 0 ? 0.5 : -0.5); });
    const auto cells = study::cells_of(study, outcomes);

    const auto effects = study::effects_of(study, study.metrics[0], cells);

    REQUIRE(effects.why_not.empty());
    CHECK(effects.all.front().axes == std::vector<std::string>{"a"});
    CHECK(of(effects, {"a"}).share == Approx(9 / 14.25));
    CHECK(of(effects, {"b"}).share == Approx(4 / 14.25));
    CHECK(of(effects, {"a", "b"}).share == Approx(1 / 14.25));
    CHECK(effects.rest == Approx(0.25 / 14.25));
    CHECK(of(effects, {"a"}).least == Approx(-3));
    // F of a is 72 / (2 / 4) with 1 and 4 degrees.
    CHECK(*of(effects, {"a"}).chance == Approx(study::chance_of_ratio(144, 1, 4)));
}

TEST_CASE("a grid with a hole says so, and a point of refinement is none of the grid", "[unit][study]") {
    auto study = two_axes();
    auto outcomes = run(study, grid(), [](double a, double, unsigned) { return a; });
    outcomes.push_back(made::outcome({4, 1, {{"a", "0"}, {"b", "1"}}, 0}, 100));
    CHECK(of(study::effects_of(study, study.metrics[0], study::cells_of(study, outcomes)), {"a"}).share == Approx(1));

    outcomes[1].metrics.clear();
    outcomes[1].status = study::Status::failed;

    CHECK(study::effects_of(study, study.metrics[0], study::cells_of(study, outcomes)).why_not ==
          "1 of 4 places of the grid have no value");
}

TEST_CASE("drawn points have rank correlations, and single axes their ranges", "[unit][study]") {
    auto study = two_axes();
    study.design = study::Design::latin_hypercube;
    study.drawn_points = 4;
    const std::vector<study::Settings> drawn{
        {{"a", "1"}, {"b", "2"}}, {{"a", "2"}, {"b", "4"}}, {{"a", "3"}, {"b", "1"}}, {{"a", "4"}, {"b", "3"}}};
    const auto outcomes = run(study, drawn, [](double a, double, unsigned) { return a * a * a; });
    const auto cells = study::cells_of(study, outcomes);
    CHECK(of(study::effects_of(study, study.metrics[0], cells), {"a"}).share == Approx(1));
    CHECK(of(study::effects_of(study, study.metrics[0], cells), {"b"}).share == Approx(0).margin(1e-9));

    study.design = study::Design::one_at_a_time;
    const std::vector<study::Outcome> single{made::outcome({0, 0, {}, 0}, 10),
                                             made::outcome({1, 0, {{"a", "1"}}, 0}, 16),
                                             made::outcome({2, 0, {{"b", "1"}}, 0}, 8)};
    const auto ranges = study::effects_of(study, study.metrics[0], study::cells_of(study, single));
    CHECK(of(ranges, {"a"}).share == Approx(6.0 / 8));
    CHECK(of(ranges, {"b"}).least == 8);
    CHECK(of(ranges, {"b"}).most == 10);
}

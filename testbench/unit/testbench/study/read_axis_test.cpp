#include "testbench/study/read_axis.h"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

namespace {

/// An axis with all that was noted, once nothing reads it any more.
struct Read {
    study::Faults faults{.file = "s.toml"}; // before the axis, whose mistakes are noted there
    study::Axis axis;
    explicit Read(std::string_view text)
        : axis(study::read_axis(toml::parse(text, std::string_view(faults.file)), faults)) {}
};

Read read(const std::string& range) { return Read("key = \"scenario.qps\"\n" + range + "\n"); }

} // namespace

TEST_CASE("a range has its values from one end to the other, by a step or by their number", "[unit][study]") {
    const auto by_step = read("range = { from = 1, to = 9, step = 4 }");
    const auto by_number = read("range = { from = 1, to = 9, points = 3 }");
    const auto by_factor = read("log = { from = 1, to = 16, points = 3 }");

    CHECK(by_step.axis.values == std::vector<std::string>{"1", "5", "9"});
    CHECK(by_number.axis.values == by_step.axis.values);
    CHECK(by_factor.axis.values == std::vector<std::string>{"1", "4", "16"});
    for (const auto* one : {&by_step, &by_number, &by_factor})
        CHECK(one->faults.text().empty());
}

TEST_CASE("a range that goes down is refused for that, and its keys are known nevertheless", "[unit][study]") {
    for (const auto* range : {"range = { from = 9, to = 1, step = 2 }", "range = { from = 9, to = 1, points = 3 }",
                              "log = { from = 9, to = 1, points = 3 }", "range = { from = 9, to = 9, step = 1 }"})
        CHECK(read(range).faults.text() == "s.toml:2: a range goes upward: 'to' is to be more than 'from'");
}

TEST_CASE("a key of a range that nobody knows is noted beside what else is wrong with it", "[unit][study]") {
    const auto text = read("range = { from = 9, to = 1, steps = 2 }").faults.text();

    CHECK(text.contains("a range goes upward"));
    CHECK(text.contains("unknown key 'steps'"));
}

#include "testbench/hcasim/explore_pool.h"

#include <catch2/catch_test_macros.hpp>

using namespace hcasim;
using scenario::race::Outcome;

TEST_CASE("what a run found comes back from its process", "[unit][hcasim][explore]") {
    Outcome outcome;
    outcome.points = 76;
    outcome.touches = {.count = 20, .first = 3, .last = 71, .translations = {3, 9}, .forwards = {5}};
    outcome.behind = "PacketForwarded";
    outcome.at_ps = 1234567890123;
    outcome.is_reached = outcome.has_begun = true;
    outcome.touched = 5;
    outcome.touched_at_end = 9;
    outcome.completion = "remote access error";
    outcome.violations = {"one\nin two lines", "another"};
    outcome.judgements = {7, 0, 3};

    const auto back = parse_outcome(print_outcome(outcome));

    REQUIRE(back);
    CHECK(back->points == 76);
    CHECK(back->touches.count == 20);
    CHECK(back->touches.first == 3);
    CHECK(back->touches.last == 71);
    CHECK(back->touches.translations == std::vector<std::uint64_t>{3, 9});
    CHECK(back->touches.forwards == std::vector<std::uint64_t>{5});
    CHECK(back->behind == "PacketForwarded");
    CHECK(back->at_ps == 1234567890123);
    CHECK(back->is_reached);
    CHECK(back->has_begun);
    CHECK(back->touched == 5);
    CHECK(back->touched_at_end == 9);
    CHECK(back->completion == "remote access error");
    CHECK(back->violations == std::vector<std::string>{"one in two lines", "another"});
    CHECK(back->judgements == std::vector<std::uint64_t>{7, 0, 3});
}

TEST_CASE("a process that ended in the middle of its words has found nothing", "[unit][hcasim][explore]") {
    const auto text = print_outcome({});

    CHECK_FALSE(parse_outcome(text.substr(0, text.size() - 4)));
    CHECK_FALSE(parse_outcome(""));
}

#include "testbench/scenario/race.h"

#include <catch2/catch_test_macros.hpp>

using namespace scenario::race;

namespace {

Outcome acted(std::uint64_t touched, std::uint64_t touched_at_end, bool has_begun = true) {
    Outcome outcome;
    outcome.is_reached = true;
    outcome.has_begun = has_begun;
    outcome.touched = touched;
    outcome.touched_at_end = touched_at_end;
    return outcome;
}

} // namespace

TEST_CASE("an action meets a transfer between its first touch of the memory and its last",
          "[unit][scenario][explore]") {
    const Touches undisturbed{.count = 20, .first = 3, .last = 80};

    CHECK_FALSE(has_overlapped(undisturbed, acted(0, 0)));
    CHECK(has_overlapped(undisturbed, acted(1, 1)));
    CHECK(has_overlapped(undisturbed, acted(19, 20)));
    CHECK_FALSE(has_overlapped(undisturbed, acted(20, 20)));
    CHECK_FALSE(has_overlapped(undisturbed, Outcome{}));
}

TEST_CASE("a transfer that touches the memory once is under way from its first packet on",
          "[unit][scenario][explore]") {
    const Touches once{.count = 1, .first = 30, .last = 30};

    CHECK(has_overlapped(once, acted(0, 0)));
    CHECK_FALSE(has_overlapped(once, acted(0, 0, false)));
    CHECK_FALSE(has_overlapped(once, acted(1, 1)));
}

TEST_CASE("an action that ends after the transfer has not met its middle to the end", "[unit][scenario][explore]") {
    const Touches undisturbed{.count = 20, .first = 3, .last = 80};

    CHECK(has_overlapped_end(undisturbed, acted(5, 19)));
    CHECK_FALSE(has_overlapped_end(undisturbed, acted(5, 20)));
}

TEST_CASE("two actions are at once where their memory can be of one kind", "[unit][scenario][explore]") {
    CHECK(can_be_at_once({Action::revoke, Action::none}));
    CHECK(can_be_at_once({Action::revoke, Action::unmap}));
    CHECK(can_be_at_once({Action::release, Action::death}));
    CHECK_FALSE(can_be_at_once({Action::release, Action::revoke}));
    CHECK_FALSE(can_be_at_once({Action::unmap, Action::unmap}));
    CHECK_FALSE(can_be_at_once({Action::unmap, Action::move}));
    CHECK(kind_of({Action::unmap, Action::release}) == MemoryKind::host);
    CHECK(kind_of({Action::death, Action::migrate}) == MemoryKind::on_demand);
    CHECK(name(Actions{Action::revoke, Action::death}) == "revoke+death");
}

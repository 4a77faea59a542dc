#include "testbench/scenario/race_rdma.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <set>
#include <string_view>

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
    namespace rows = rdma_rows;
    const auto find = [](std::string_view name) { return *std::ranges::find(rdma().actions(), name, &Action::name); };
    CHECK(can_be_at_once({&rows::revoke, nullptr}));
    CHECK(can_be_at_once({&rows::revoke, &rows::unmap}));
    CHECK(can_be_at_once({&rows::release, &rows::death}));
    CHECK_FALSE(can_be_at_once({&rows::release, &rows::revoke}));
    CHECK_FALSE(can_be_at_once({&rows::unmap, &rows::unmap}));
    CHECK_FALSE(can_be_at_once({&rows::unmap, find("move")}));
    CHECK(kind_of({&rows::unmap, &rows::release}) == MemoryKind::host);
    CHECK(kind_of({&rows::death, &rows::migrate}) == MemoryKind::on_demand);
    CHECK(name(Actions{&rows::revoke, &rows::death}) == "revoke+death");
    CHECK(name(Actions{}) == "none");
}

TEST_CASE("rows of a subject have names of their own, and what it does together can be at once",
          "[unit][scenario][explore]") {
    for (const auto* subject : subjects()) {
        INFO(subject->name());
        const auto check = [](auto rows) {
            std::set<std::string_view> names;
            for (const auto* row : rows)
                CHECK(names.insert(row->name()).second);
        };
        check(subject->operations());
        check(subject->actions());
        check(subject->victims());
        check(subject->plants());
        for (const auto& pair : subject->together())
            CHECK(can_be_at_once(pair));
    }
}

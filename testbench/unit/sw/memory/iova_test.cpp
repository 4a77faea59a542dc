#include "sw/memory/iova.h"

#include <catch2/catch_test_macros.hpp>

using abi::Iova;
using sw::memory::IovaSpace;

TEST_CASE("iova ranges are congruent to what they stand for", "[unit][memory]") {
    IovaSpace space(0x1000, 0x100'0000);

    const auto range = space.allocate(0x1000, 0x10'0000, 0x3'4000);

    REQUIRE(range);
    CHECK(range->value == 0x3'4000);
}

TEST_CASE("iova ranges do not overlap, and a released one is used again", "[unit][memory]") {
    IovaSpace space(0x1000, 0x4000);
    const auto a = space.allocate(0x1000, 0x1000), b = space.allocate(0x1000, 0x1000),
               c = space.allocate(0x1000, 0x1000);
    REQUIRE((a && b && c));
    CHECK(a->value == 0x1000);
    CHECK(b->value == 0x2000);
    CHECK(c->value == 0x3000);
    CHECK_FALSE(space.allocate(1, 1));

    space.release(*b);

    CHECK(space.allocate(0x1000, 0x1000)->value == 0x2000);
}

TEST_CASE("an iova range that does not fit the space is refused", "[unit][memory]") {
    IovaSpace space(0x1000, 0x3000);

    CHECK_FALSE(space.allocate(0x2001, 1));
    CHECK_FALSE(space.allocate(0, 1));
    CHECK_FALSE(space.allocate(1, 3));
    CHECK_FALSE(space.allocate(~0ull, 1ull << 63));
    CHECK(space.used_ranges() == 0);
}

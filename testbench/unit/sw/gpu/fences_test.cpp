#include "sw/gpu/fences.h"

#include <catch2/catch_test_macros.hpp>

using sw::gpu::Fence;
using sw::gpu::Fences;

TEST_CASE("each fence is found by its name, and says what it orders and who demands it", "[unit][sw][gpu]") {
    for (const auto& one : named(std::type_identity<Fence>{})) {
        CAPTURE(one.text);
        CHECK(sw::gpu::find_fence(one.text) == one.value);
        const auto rule = sw::gpu::rule(one.value);
        CHECK_FALSE(rule.of.empty());
        CHECK_FALSE(rule.sentence.empty());
        CHECK_FALSE(rule.cites.empty());
    }
    CHECK_FALSE(sw::gpu::find_fence("none").has_value());
}

TEST_CASE("a set of fences has those that it was made of", "[unit][sw][gpu]") {
    constexpr Fences some{Fence::phase_before_entry, Fence::flag_before_data};
    CHECK(some.has(Fence::phase_before_entry));
    CHECK(some.has(Fence::flag_before_data));
    CHECK_FALSE(some.has(Fence::command_before_doorbell));
    CHECK(Fences{}.is_empty());
}

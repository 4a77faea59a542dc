#include "sw/gpu/vram.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cerrno>
#include <random>
#include <vector>

using sw::gpu::vram_block;
using sw::gpu::VramAllocator;
using sw::gpu::VramRange;

TEST_CASE("VRAM is given in whole blocks, the lowest hole that fits first", "[unit][gpu]") {
    VramAllocator vram(16 * vram_block);

    const auto first = vram.allocate(1);
    const auto second = vram.allocate(3 * vram_block);

    REQUIRE(first);
    REQUIRE(second);
    CHECK(*first == std::vector{VramRange{0, vram_block}});
    CHECK(*second == std::vector{VramRange{vram_block, 3 * vram_block}});
    CHECK(vram.free_bytes() == 12 * vram_block);
}

TEST_CASE("a buffer larger than every hole is made of several ranges", "[unit][gpu]") {
    VramAllocator vram(5 * vram_block);
    const auto a = vram.allocate(2 * vram_block), b = vram.allocate(vram_block), c = vram.allocate(2 * vram_block);
    REQUIRE((a && b && c));
    vram.release(*a);
    vram.release(*c);

    const auto large = vram.allocate(3 * vram_block);

    REQUIRE(large);
    CHECK(*large == std::vector{VramRange{0, 2 * vram_block}, VramRange{3 * vram_block, vram_block}});
}

TEST_CASE("VRAM given back merges with its neighbours on both sides", "[unit][gpu]") {
    VramAllocator vram(3 * vram_block);
    const auto a = vram.allocate(vram_block), b = vram.allocate(vram_block), c = vram.allocate(vram_block);
    REQUIRE((a && b && c));

    vram.release(*a);
    vram.release(*c);
    vram.release(*b);
    const auto whole = vram.allocate(3 * vram_block);

    REQUIRE(whole);
    CHECK(*whole == std::vector{VramRange{0, 3 * vram_block}});
}

TEST_CASE("VRAM beyond what is free is refused and nothing is lost", "[unit][gpu]") {
    VramAllocator vram(2 * vram_block);

    const auto refused = vram.allocate(2 * vram_block + 1);

    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ENOMEM);
    CHECK_FALSE(vram.allocate(0));
    CHECK(vram.free_bytes() == 2 * vram_block);
    CHECK(vram.allocate(2 * vram_block));
}

TEST_CASE("buffers never share a block through a thousand random allocations", "[unit][gpu]") {
    constexpr std::uint32_t seed = 20240709;
    CAPTURE(seed);
    std::mt19937 random(seed);
    constexpr std::size_t blocks = 256;
    VramAllocator vram(blocks * vram_block);
    std::vector<std::vector<VramRange>> live;
    std::vector<int> owners(blocks);
    const auto mark = [&](const std::vector<VramRange>& ranges, int by) {
        for (const auto& range : ranges)
            for (auto block = range.offset / vram_block; block < (range.offset + range.size) / vram_block; ++block)
                owners[block] += by;
    };

    for (int step = 0; step < 1000; ++step) {
        if (random() % 3 || live.empty()) {
            if (auto ranges = vram.allocate(1 + random() % (20 * vram_block))) {
                mark(*ranges, 1);
                live.push_back(std::move(*ranges));
            }
        } else {
            const auto victim = random() % live.size();
            mark(live[victim], -1);
            vram.release(live[victim]);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
        }
        REQUIRE(std::ranges::all_of(owners, [](int n) { return n == 0 || n == 1; }));
        REQUIRE(vram.free_bytes() == static_cast<std::uint64_t>(std::ranges::count(owners, 0)) * vram_block);
    }
}

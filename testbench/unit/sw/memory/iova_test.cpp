#include "sw/memory/iova.h"

#include "testbench/harness/seed.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

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

namespace {

constexpr std::uint64_t page = 0x1000;

/// What one more allocation of `pages` looks at, when so many ranges of one page are in use with holes of one page
/// between them.
std::uint64_t looks_among(unsigned ranges, std::uint64_t pages) {
    IovaSpace space;
    std::vector<Iova> used;
    for (unsigned i = 0; i < 2 * ranges; ++i)
        used.push_back(space.allocate(page, page).value());
    for (unsigned i = 0; i < 2 * ranges; i += 2)
        space.release(used[i]);
    const auto before = space.looked_at();
    REQUIRE(space.allocate(pages * page, page));
    return space.looked_at() - before;
}

} // namespace

TEST_CASE("how many iova ranges are in use is nothing to the next one", "[unit][memory]") {
    CHECK(looks_among(10'000, 1) == looks_among(10, 1));
    CHECK(looks_among(10'000, 2) == looks_among(10, 2));
    CHECK(looks_among(10'000, 1) <= 2);
    CHECK(looks_among(10'000, 2) <= 2);
}

TEST_CASE("an iova range is the lowest that fits, after any history", "[unit][memory]") {
    constexpr std::uint64_t begin = 3, end = 200;
    const auto seed = testbench::random_seed();
    INFO("seed " << seed);
    std::mt19937 random(seed);
    IovaSpace space(begin, end);
    std::vector<bool> is_used(end);
    std::map<std::uint64_t, std::uint64_t> sizes;

    for (unsigned i = 0; i < 5000; ++i) {
        if (random() % 2 != 0 && !sizes.empty()) {
            const auto range = std::next(sizes.begin(), static_cast<long>(random() % sizes.size()));
            space.release(Iova{range->first});
            std::fill_n(is_used.begin() + static_cast<long>(range->first), range->second, false);
            sizes.erase(range);
            continue;
        }
        const std::uint64_t size = 1 + random() % 9, alignment = 1u << random() % 4, congruent = random();
        std::optional<std::uint64_t> lowest;
        for (auto at = begin; at + size <= end && !lowest; ++at)
            if ((at - congruent) % alignment == 0 &&
                std::none_of(is_used.begin() + static_cast<long>(at), is_used.begin() + static_cast<long>(at + size),
                             [](bool used) { return used; }))
                lowest = at;

        const auto range = space.allocate(size, alignment, congruent);

        REQUIRE(range.has_value() == lowest.has_value());
        if (!range)
            continue;
        REQUIRE(range->value == *lowest);
        std::fill_n(is_used.begin() + static_cast<long>(*lowest), size, true);
        sizes[*lowest] = size;
    }
}

TEST_CASE("a reserved range is handed out by nobody until it is released", "[unit][memory]") {
    IovaSpace space(0x1000, 0x5000);
    space.reserve(0, 0x2000);
    space.reserve(0x3000, 0x4000);

    CHECK(space.allocate(0x1000, 1)->value == 0x2000);
    CHECK(space.allocate(0x1000, 1)->value == 0x4000);
    CHECK_FALSE(space.allocate(1, 1));

    space.release(Iova{0x3000});

    CHECK(space.allocate(0x1000, 1)->value == 0x3000);
}

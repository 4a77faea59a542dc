#include "platform/host/memory.h"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using platform::host::Memory;

namespace {

constexpr auto page = Memory::page;

/// What one more allocation of `pages` looks at, when so many blocks of one page are in use with holes of one page
/// between them.
std::uint64_t looks_among(unsigned blocks, std::uint64_t pages) {
    Memory memory("host", {});
    std::vector<std::uint64_t> used;
    for (unsigned i = 0; i < 2 * blocks; ++i)
        used.push_back(memory.allocate(page)->bus);
    for (unsigned i = 0; i < 2 * blocks; i += 2)
        memory.release(used[i]);
    const auto before = memory.looked_at();
    REQUIRE(memory.allocate(pages * page));
    return memory.looked_at() - before;
}

} // namespace

TEST_CASE("how many blocks of a host's memory are in use is nothing to the next one", "[unit][host]") {
    CHECK(looks_among(10'000, 1) == looks_among(10, 1));
    CHECK(looks_among(10'000, 2) == looks_among(10, 2));
    CHECK(looks_among(10'000, 2) <= 3);
}

TEST_CASE("a block of a host's memory is the lowest that fits, aligned as asked for", "[unit][host]") {
    Memory memory("host", {});
    const auto first = memory.allocate(3 * page)->bus, second = memory.allocate(page)->bus;
    memory.allocate(page);
    memory.release(second);
    CHECK(memory.allocate(2 * page)->bus == first + 5 * page);
    CHECK(memory.allocate(page)->bus == second);

    memory.release(first);

    CHECK(memory.allocate(page, 2 * page)->bus == first);
    CHECK(memory.allocate(page, 2 * page)->bus == first + 2 * page);
    CHECK(memory.allocate(page)->bus == first + page);
    CHECK(memory.allocated_bytes() == 7 * page);
}

TEST_CASE("what neighbours in a host's memory have given back is one hole", "[unit][host]") {
    Memory memory("host", {});
    std::vector<std::uint64_t> blocks;
    for (unsigned i = 0; i < 4; ++i)
        blocks.push_back(memory.allocate(page)->bus);

    for (const auto i : {0u, 2u, 1u})
        memory.release(blocks[i]);

    CHECK(memory.allocate(3 * page)->bus == blocks[0]);
    CHECK(memory.allocate(page)->bus == blocks[3] + page);
}

TEST_CASE("a large hole of a host's memory is used before a small one behind it", "[unit][host]") {
    Memory memory("host", {});
    const auto large = memory.allocate(3 * page)->bus;
    memory.allocate(page);
    const auto small = memory.allocate(page)->bus;
    memory.allocate(page);

    memory.release(large);
    memory.release(small);

    CHECK(memory.allocate(page)->bus == large);
}

#include "model/gpu/cache/cache.h"

#include "testbench/harness/seed.h"

#include <catch2/catch_test_macros.hpp>

#include <random>

using namespace std::chrono_literals;
using model::gpu::cache::ByteMask;
using model::gpu::cache::Cache;
using model::gpu::cache::Geometry;
using model::gpu::cache::Insert;
using model::gpu::cache::Line;

namespace {

constexpr auto nothing = [](Line&) {};

std::vector<std::byte> filled(std::size_t length, unsigned value) { return {length, static_cast<std::byte>(value)}; }

} // namespace

TEST_CASE("a mask gives its runs in ascending order", "[unit][gpu][cache]") {
    ByteMask mask{3, 2};
    mask.add({60, 10});
    mask.add({127, 1});
    mask.remove({64, 1});

    std::vector<std::pair<unsigned, unsigned>> runs;
    mask.each_run([&](unsigned begin, unsigned length) { runs.emplace_back(begin, length); });

    CHECK(runs == std::vector<std::pair<unsigned, unsigned>>{{3, 2}, {60, 4}, {65, 5}, {127, 1}});
    CHECK(mask.count() == 12);
    CHECK(mask.has({60, 4}));
    CHECK_FALSE(mask.has({60, 5}));
    CHECK(mask.touches({64, 2}));
    CHECK_FALSE(mask.touches({64, 1}));
}

TEST_CASE("a mask holds what a set of bytes holds", "[unit][gpu][cache]") {
    for (unsigned begin = 0; begin < ByteMask::bytes; ++begin)
        for (unsigned length = 0; begin + length <= ByteMask::bytes; ++length) {
            const ByteMask mask{begin, length};
            REQUIRE(mask.count() == length);
            REQUIRE(mask.is_empty() == (length == 0));
            mask.each_run([&](unsigned at, unsigned n) {
                REQUIRE(at == begin);
                REQUIRE(n == length);
            });
        }
}

TEST_CASE("a line that was filled is found by each of its bytes and by no other", "[unit][gpu][cache]") {
    Cache cache({.bytes = 4096, .ways = 2});
    auto& line = cache.allocate(0x1080, Insert::most_recent, 5ns, nothing);
    line.fill(0, filled(128, 7));

    CHECK(cache.find(0x1080) == &line);
    CHECK(cache.find(0x10ff) == &line);
    CHECK(cache.find(0x1100) == nullptr);
    CHECK(cache.find(0x107f) == nullptr);
    CHECK(cache.find(0x1080)->filled == 5ns);
}

TEST_CASE("the line used longest ago is evicted, a streaming one before it", "[unit][gpu][cache]") {
    Cache cache({.bytes = 3 * 128, .ways = 3}); // one set
    for (const std::uint64_t address : {0, 128})
        cache.allocate(address, Insert::most_recent, {}, nothing).fill(0, filled(1, 1));
    cache.allocate(256, Insert::least_recent, {}, nothing).fill(0, filled(1, 1));
    cache.find(256); // does not make a streaming line stay
    cache.find(0);

    std::vector<std::uint64_t> left;
    const auto note = [&](Line& line) { left.push_back(line.address); };
    cache.allocate(384, Insert::most_recent, {}, note).fill(0, filled(1, 1));
    cache.allocate(512, Insert::most_recent, {}, note).fill(0, filled(1, 1));

    CHECK(left == std::vector<std::uint64_t>{256, 128});
    CHECK(cache.find(0) != nullptr);
}

TEST_CASE("a line that leaves says which of its bytes are dirty", "[unit][gpu][cache]") {
    Cache cache({.bytes = 128, .ways = 1});
    auto& line = cache.allocate(0, Insert::most_recent, {}, nothing);
    line.fill(0, filled(128, 1));
    line.write(16, filled(4, 2), 3ns);
    line.write(20, filled(4, 3), 4ns);
    line.fill(22, filled(1, 9)); // memory has this byte by now

    ByteMask dirty;
    cache.allocate(128, Insert::most_recent, {}, [&](Line& out) { dirty = out.dirty; });

    ByteMask expected{16, 8};
    expected.remove({22, 1});
    CHECK(dirty == expected);
}

TEST_CASE("all lines leave at once, and none comes back with old bytes", "[unit][gpu][cache]") {
    Cache cache({.bytes = 4096, .ways = 2});
    for (std::uint64_t address = 0; address < 4096; address += 128)
        cache.allocate(address, Insert::most_recent, {}, nothing).write(0, filled(128, 5), {});

    cache.drop_all();

    unsigned held = 0;
    cache.each([&](Line&) { ++held; });
    CHECK(held == 0);
    CHECK(cache.find(0) == nullptr);
    CHECK(cache.allocate(0, Insert::most_recent, {}, nothing).data[0] == std::byte{});
}

TEST_CASE("a cache with write-backs holds the bytes that a plain memory holds", "[unit][gpu][cache]") {
    const auto seed = testbench::random_seed();
    INFO("seed " << seed);
    std::mt19937 random(seed);
    std::vector<std::byte> memory(4096), expected(4096);
    Cache cache({.bytes = 512, .ways = 2});
    const auto write_back = [&](Line& line) {
        line.dirty.each_run([&](unsigned begin, unsigned length) {
            std::copy_n(line.data.begin() + begin, length, memory.begin() + static_cast<long>(line.address + begin));
        });
    };
    for (unsigned step = 0; step < 20000; ++step) {
        const unsigned begin = random() % 128, length = 1 + random() % (128 - begin);
        const std::uint64_t address = random() % 32 * 128;
        auto* line = cache.find(address);
        if (line == nullptr)
            line = &cache.allocate(address, random() % 4 ? Insert::most_recent : Insert::least_recent, {}, write_back);
        if (random() % 2) {
            const auto bytes = filled(length, random());
            line->write(begin, bytes, {});
            std::ranges::copy(bytes, expected.begin() + static_cast<long>(address + begin));
        } else {
            ByteMask missing{0, 128};
            missing.remove(line->valid);
            missing.each_run(
                [&](unsigned at, unsigned n) { line->fill(at, std::span(memory).subspan(address + at, n)); });
            REQUIRE(std::equal(line->data.begin(), line->data.end(), expected.begin() + static_cast<long>(address)));
        }
    }
    cache.each(write_back);
    CHECK(memory == expected);
}

TEST_CASE("a geometry that cannot be built is refused", "[unit][gpu][cache]") {
    CHECK(find_fault(Geometry{.bytes = 6 << 20}) == nullptr); // 3072 sets: no power of two is needed
    CHECK(find_fault(Geometry{.bytes = 4096, .line = 96}) != nullptr);
    CHECK(find_fault(Geometry{.bytes = 4096, .line = 256}) != nullptr);
    CHECK(find_fault(Geometry{.bytes = 1024}) != nullptr);
    CHECK(find_fault(Geometry{.bytes = 4096, .ways = 0}) != nullptr);
}

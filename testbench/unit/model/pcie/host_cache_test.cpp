#include "model/pcie/host_cache.h"

#include <catch2/catch_test_macros.hpp>

using namespace model::pcie;
using namespace std::chrono_literals;
using model::port::Time;

namespace {
constexpr std::uint64_t line = HostCache::line_bytes;
constexpr HostCacheConfig small{.bytes = 64 * line, .ways = 8, .io_ways = 2, .miss = 50ns}; ///< 8 sets
constexpr std::uint64_t same_set = 8 * line;
} // namespace

TEST_CASE("a device's first read of a line comes from memory, and the next ones from the cache", "[unit][pcie]") {
    HostCache cache(small);
    CHECK(cache.read(0x1000, 4) == 50ns);
    CHECK(cache.read(0x103c, 4) == 0ns);
    CHECK(cache.read(0x103c, 8) == 50ns); // into the next line
    CHECK(cache.read(0x1000, 128) == 0ns);
    CHECK(cache.counters().misses == 2);
    CHECK(cache.counters().hits == 4);
    CHECK(cache.counters().evictions == 0);
}

TEST_CASE("what the processor has used is there, up to the size of the cache", "[unit][pcie]") {
    HostCache cache(small);
    cache.touch(0, small.bytes);
    for (std::uint64_t at = 0; at < small.bytes; at += line)
        CHECK(cache.read(at, 64) == 0ns);
    cache.touch(small.bytes, line); // one more, which takes the place of the one used longest ago
    CHECK(cache.read(0, 64) == 50ns);
    CHECK(cache.counters().evictions == 1); // by the read; the processor's do not count
}

TEST_CASE("writes of devices come into some of the ways alone", "[unit][pcie]") {
    HostCache cache(small);
    for (unsigned i = 0; i < 8; ++i)
        CHECK(cache.write(i * same_set, 64) == 0ns); // a processor finds them in the cache
    unsigned there = 0;
    for (unsigned i = 8; i-- > 6;)
        there += cache.read(i * same_set, 64) == 0ns;
    CHECK(there == 2);
    CHECK(cache.counters().evictions == 6);

    SECTION("but a line that is there already is written where it is") {
        HostCache other(small);
        for (unsigned i = 0; i < 8; ++i)
            other.read(i * same_set, 64);
        for (unsigned i = 0; i < 8; ++i)
            other.write(i * same_set, 64);
        for (unsigned i = 0; i < 8; ++i)
            CHECK(other.read(i * same_set, 64) == 0ns);
    }
}

TEST_CASE("without DDIO a write goes to memory, and the cache has no copy of it any more", "[unit][pcie]") {
    auto config = small;
    config.io_ways = 0;
    HostCache cache(config);
    cache.touch(0, 64);
    CHECK(cache.write(0, 64) == 50ns);
    CHECK(cache.read(0, 64) == 50ns);
}

TEST_CASE("a host without a cache answers alike, whatever is asked", "[unit][pcie]") {
    HostCache cache(HostCacheConfig{});
    CHECK_FALSE(cache.is_on());
    CHECK(cache.read(0, 4096) == Time{});
    CHECK(cache.write(0, 4096) == Time{});
    CHECK(cache.counters().misses == 0);
    HostCache other(small);
    CHECK(other.read(0, 0) == Time{}); // a flush names no line
    CHECK(other.counters().misses == 0);
}

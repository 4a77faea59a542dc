#include "model/time/cache.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace std::chrono_literals;
using model::port::Time;
using namespace model::time;

namespace {

struct Memory {
    Time operator()(Time begin) { return ++reads, begin + 100ns; }
    int reads = 0;
};

} // namespace

TEST_CASE("a miss costs what its fill costs, a hit only the look-up", "[unit][time]") {
    Cache cache{"iotlb", {.entries = 4, .ways = 4, .hit = 2ns}};
    Memory memory;

    CHECK(cache.use(1, 0ns, memory) == 102ns);
    CHECK(cache.use(1, 200ns, memory) == 202ns);
    CHECK(memory.reads == 1);
    CHECK(cache.counters() == CacheCounters{.hits = 1, .misses = 1});
}

TEST_CASE("who comes while a line is being filled waits for that fill", "[unit][time]") {
    Cache cache{"cache", {.entries = 4, .ways = 4}};
    Memory memory;

    cache.use(1, 0ns, memory);

    CHECK(cache.use(1, 40ns, memory) == 100ns);
    CHECK(memory.reads == 1);
    CHECK(cache.counters() == CacheCounters{.merged = 1, .misses = 1});
}

TEST_CASE("misses go through a window: only so many are outstanding", "[unit][time]") {
    const auto misses = GENERATE(1u, 2u, 8u);
    Cache cache{"cache", {.entries = 64, .ways = 64, .misses = misses}};
    Memory memory;

    Time last{};
    for (unsigned tag = 0; tag < 8; ++tag)
        last = std::max(last, cache.use(tag, 0ns, memory));

    CHECK(last == 800ns / misses);
}

TEST_CASE("replacement takes the least recently used line, or the one that came first", "[unit][time]") {
    const auto replacement = GENERATE(Replacement::least_recently_used, Replacement::first_in);
    Cache cache{"cache", {.entries = 2, .ways = 2, .replacement = replacement}};
    Memory memory;
    cache.use(1, 0ns, memory);
    cache.use(2, 0ns, memory);
    cache.use(1, 0ns, memory);

    cache.use(3, 0ns, memory);

    CHECK(cache.has(1) == (replacement == Replacement::least_recently_used));
    CHECK(cache.has(2) == (replacement == Replacement::first_in));
    CHECK(cache.has(3));
    CHECK(cache.counters().evictions == 1);
}

TEST_CASE("random replacement repeats with its seed and differs with another", "[unit][time]") {
    const auto survivors = [](std::uint64_t seed) {
        Cache cache{"cache", {.entries = 8, .ways = 8, .replacement = Replacement::random, .seed = seed}};
        Memory memory;
        std::uint32_t found = 0;
        for (unsigned tag = 0; tag < 24; ++tag)
            cache.use(tag, 0ns, memory);
        for (unsigned tag = 0; tag < 24; ++tag)
            found |= static_cast<std::uint32_t>(cache.has(tag)) << tag;
        return found;
    };

    CHECK(survivors(1) == survivors(1));
    CHECK(survivors(1) != survivors(2));
    CHECK(std::popcount(survivors(3)) == 8);
}

TEST_CASE("a tag stays in its set: with one way, tags of the same set displace each other", "[unit][time]") {
    Cache cache{"cache", {.entries = 4, .ways = 1}};
    Memory memory;

    cache.use(0, 0ns, memory);
    cache.use(1, 0ns, memory);
    CHECK(cache.has(0));
    cache.use(4, 0ns, memory);

    CHECK_FALSE(cache.has(0));
    CHECK(cache.has(1));
    CHECK(cache.has(4));
}

TEST_CASE("what is dropped is fetched again, and a cache of nothing always misses", "[unit][time]") {
    Cache cache{"cache", {.entries = 4, .ways = 4}}, none{"none", {}};
    Memory memory;
    cache.use(1, 0ns, memory);
    cache.use(2, 0ns, memory);

    cache.drop(1);
    CHECK_FALSE(cache.has(1));
    CHECK(cache.has(2));
    cache.drop_all();
    CHECK_FALSE(cache.has(2));

    none.use(1, 0ns, memory);
    none.use(1, 0ns, memory);
    CHECK(none.counters().misses == 2);
}

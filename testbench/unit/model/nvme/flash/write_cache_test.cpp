#include "model/nvme/flash/write_cache.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace std::chrono_literals;
using model::port::Time;
using namespace model::nvme;

namespace {

/// Four dies, pages of four sectors, a cache of two pages. Bytes take no time on the channels.
struct Bench {
    FlashConfig config{.channels = 2,
                       .dies = 2,
                       .page_bytes = 16384,
                       .channel_rate = 0,
                       .read = 50us,
                       .program = 200us,
                       .erase = 0us,
                       .cache_bytes = 32768};
    Dies dies{config};
    WriteCache cache{config, dies};
};

} // namespace

TEST_CASE("a write ends when it is in the cache, and is programmed behind it", "[unit][nvme][time]") {
    Bench b;

    CHECK(b.cache.take(0, 0, 4, 10us) == 10us);
    CHECK(b.cache.has(3, 11us));
    CHECK_FALSE(b.cache.has(4, 11us));
    CHECK(b.cache.flush(0us) == 210us);
    CHECK(b.cache.has(3, 209us));
    CHECK_FALSE(b.cache.has(3, 210us));
}

TEST_CASE("a write waits for a page to be programmed when the cache is full", "[unit][nvme][time]") {
    Bench b;
    CHECK(b.cache.take(0, 0, 4, 0us) == 0us);
    CHECK(b.cache.take(1, 4, 8, 0us) == 0us);

    CHECK(b.cache.take(2, 8, 12, 5us) == 200us);
    CHECK(b.cache.take(3, 12, 16, 6us) == 200us);
    CHECK(b.cache.take(0, 16, 20, 7us) == 400us);
    CHECK(b.cache.take(0, 20, 24, 1ms) == 1ms);
}

TEST_CASE("sectors of a die share a page as they come, wherever they belong", "[unit][nvme][time]") {
    Bench b;
    for (const std::uint64_t sector : {0u, 100u, 201u, 302u})
        CHECK(b.cache.take(0, sector, sector + 1, 0us) == 0us);

    CHECK(b.cache.flush(0us) == 200us); // one program
}

TEST_CASE("pages that nobody fills are programmed when others want their place", "[unit][nvme][time]") {
    const auto bytes = GENERATE(0u, 16384u, 32768u);
    Bench b;
    b.config.cache_bytes = bytes;
    Dies dies(b.config);
    WriteCache cache(b.config, dies);

    Time last{};
    for (unsigned die = 0; die < 4; ++die)
        last = std::max(last, cache.take(die, die, die + 1, 0us));

    CHECK(last == (bytes == 32768 ? 200us : 600us));
    CHECK(cache.flush(0us) == (bytes == 32768 ? 400us : 800us));
}

TEST_CASE("a sector that is written again before it is programmed takes no place of its own", "[unit][nvme][time]") {
    Bench b;
    for (unsigned i = 0; i < 100; ++i)
        CHECK(b.cache.take(0, 0, 1, i * 1us) == i * 1us);

    CHECK(b.cache.flush(0us) == 299us); // no program begins before its last sector has come
    CHECK(b.cache.take(0, 0, 1, 150us) == 150us);
    CHECK(b.cache.flush(0us) == 499us); // its program had begun, so it is another one
}

TEST_CASE("a flush of one die leaves the pages of others where they are", "[unit][nvme][time]") {
    Bench b;
    b.cache.take(0, 0, 1, 0us);
    b.cache.take(1, 1, 2, 0us);

    CHECK(b.cache.flush(0, 0us) == 200us);
    CHECK(b.cache.take(1, 2, 3, 500us) == 500us);
    CHECK(b.cache.flush(600us) == 800us); // both sectors of die 1, by one program
}

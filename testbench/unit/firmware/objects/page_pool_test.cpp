#include "firmware/objects/page_pool.h"

#include <catch2/catch_test_macros.hpp>

using firmware::objects::PagePool;

namespace {
PagePool filled(std::size_t pages, std::uint32_t boot = 2, std::uint32_t init = 4, std::uint32_t per_1024 = 1024) {
    PagePool pool(boot, init, per_1024);
    for (std::size_t i = 0; i < pages; ++i)
        pool.give(0x1000 * (i + 1));
    return pool;
}
} // namespace

TEST_CASE("boot pages are asked for first, then those of initialization as well", "[unit][firmware][pages]") {
    CHECK(filled(0).boot_missing() == 2);
    CHECK(filled(0).init_missing() == 6);
    CHECK(filled(2).boot_missing() == 0);
    CHECK(filled(2).init_missing() == 4);
    CHECK(filled(7).init_missing() == 0);
}

TEST_CASE("before initialization every page can be taken back, newest first", "[unit][firmware][pages]") {
    auto pool = filled(3);

    CHECK(pool.take(2) == std::vector<std::uint64_t>{0x3000, 0x2000});
    CHECK(pool.has(0x1000));
    CHECK(!pool.has(0x3000));
    CHECK(pool.take(9) == std::vector<std::uint64_t>{0x1000});
    CHECK(pool.given() == 0);
}

TEST_CASE("while the device runs only pages beyond its needs can be taken back", "[unit][firmware][pages]") {
    auto pool = filled(8);
    pool.set_running(true);
    CHECK(pool.surplus() == 2);

    for (int i = 0; i < 5; ++i) // one page each in this pool: one more than initialization brought
        pool.add_object();

    CHECK(pool.surplus() == 1);
    CHECK(pool.take(9).size() == 1);
    CHECK(pool.surplus() == 0);
    pool.set_running(false);
    CHECK(pool.surplus() == 7);
}

TEST_CASE("objects find room until their pages are used up", "[unit][firmware][pages]") {
    auto pool = filled(6);
    for (int i = 0; i < 4; ++i) {
        CHECK(pool.has_room());
        pool.add_object();
    }

    CHECK(!pool.has_room());
    pool.give(0x100000);
    CHECK(pool.has_room());
    pool.remove_object();
    CHECK(pool.objects() == 3);
}

TEST_CASE("a batch of pages is wanted when less than a quarter of one is left", "[unit][firmware][pages]") {
    auto pool = filled(2 + 64, 2, 64);
    for (int i = 0; i < 47; ++i)
        pool.add_object();
    CHECK(pool.wanted() == 64); // 48 in use with the next one, 16 left

    pool.remove_object();
    CHECK(pool.wanted() == 0);
}

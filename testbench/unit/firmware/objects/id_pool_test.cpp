#include "firmware/objects/id_pool.h"

#include <catch2/catch_test_macros.hpp>

using firmware::objects::IdPool;

TEST_CASE("numbers start at the first one and end with the count", "[unit][firmware]") {
    IdPool pool(5, 2);

    CHECK(pool.take() == 5);
    CHECK(pool.take() == 6);
    CHECK(!pool.take());
    CHECK(pool.in_use() == 2);
}

TEST_CASE("a number that was given back is the last one to be given again", "[unit][firmware]") {
    IdPool pool(0, 4);
    REQUIRE(pool.take() == 0);
    REQUIRE(pool.take() == 1);
    pool.give_back(1);
    pool.give_back(0);

    CHECK(pool.take() == 2);
    CHECK(pool.take() == 3);
    CHECK(pool.take() == 1);
    CHECK(pool.take() == 0);
    CHECK(!pool.take());
}

// Pieces of memory that commands go through.
#include "sw/nvmf/payload.h"

#include <catch2/catch_test_macros.hpp>

using sw::nvmf::PayloadPool;

TEST_CASE("pieces go to those who wait, in turn", "[unit][nvmf]") {
    PayloadPool pool({.bytes = 4096}, 4096);
    const int first = 0, second = 0;
    const auto piece = pool.take(&first);
    REQUIRE(piece);
    CHECK(!pool.take(&first));
    CHECK(!pool.take(&second));

    pool.give(*piece);
    CHECK(!pool.take(&second)); // not yet
    CHECK(pool.take(&first) == piece);
    CHECK(!pool.take(&first)); // behind the other now
    pool.give(*piece);
    CHECK(!pool.take(&first));
    CHECK(pool.take(&second) == piece);
}

TEST_CASE("who goes gives back what it has, and waits no more", "[unit][nvmf]") {
    PayloadPool pool({.bytes = 3 * 4096 + 1}, 4096);
    const int first = 0, second = 0, third = 0;
    REQUIRE(pool.pieces() == 3);
    for (const auto* owner : {&first, &second, &first})
        REQUIRE(pool.take(owner));
    CHECK(!pool.take(&second));
    CHECK(!pool.take(&third));

    pool.give_all(&second);
    CHECK(pool.free() == 1);
    CHECK(pool.take(&third));
    pool.give_all(&first);
    CHECK(pool.free() == 2);
}

#include "testbench/load/bytes.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <vector>

using namespace load;

TEST_CASE("each byte of a message that was changed is found", "[unit][load]") {
    std::vector<std::byte> bytes(37);
    fill(bytes, 5);
    REQUIRE_FALSE(find_foreign(bytes, 5));

    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] ^= std::byte{0x10};
        CHECK(find_foreign(bytes, 5) == i);
        bytes[i] ^= std::byte{0x10};
    }
}

TEST_CASE("a message's beginning is the beginning of a longer one, filled in pieces", "[unit][load]") {
    std::vector<std::byte> whole(100), pieces(100);
    fill(whole, 9);
    fill(std::span(pieces).first(13), 9);
    fill(std::span(pieces).subspan(13), 9, 13);
    CHECK(whole == pieces);
    CHECK_FALSE(find_foreign(std::span(whole).first(3), 9));
}

TEST_CASE("another message's bytes are foreign, and so are those of another place", "[unit][load]") {
    std::vector<std::byte> bytes(64);
    fill(bytes, 1);
    CHECK(find_foreign(bytes, 2));
    fill(bytes, 1, 8);
    CHECK(find_foreign(bytes, 1));
    CHECK(find_foreign(std::vector<std::byte>(8), 0)); // where nothing has arrived
}

#include "testbench/scenario/sha256.h"

#include <catch2/catch_test_macros.hpp>

#include <string_view>

TEST_CASE("SHA-256 agrees with FIPS 180-4's examples, in one piece or in several", "[unit][scenario]") {
    const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };

    CHECK(scenario::sha256({}) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(scenario::sha256(bytes("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    scenario::Sha256 pieces;
    pieces.add(bytes("abcdbcdecdefdefgefghfghighij"));
    pieces.add({});
    pieces.add(bytes("hijkijkljklmklmnlmnomnopnopq"));
    CHECK(pieces.finish() == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

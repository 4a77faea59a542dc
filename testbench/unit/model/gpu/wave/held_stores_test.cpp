// Stores that are held: which of them join, and what of a load's history is kept once.
#include "model/gpu/wave/held_stores.h"
#include "model/gpu/wave/order_book.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstddef>
#include <random>
#include <vector>

using namespace std::chrono_literals;
using namespace model::gpu::wave;
using model::gpu::memory::Modifiers;

TEST_CASE("a store joins an earlier one of the same modifiers alone", "[unit][gpu][wave]") {
    const std::array<std::byte, 4> bytes{};
    const Modifiers plain{};
    auto other = plain;
    other.glc = !plain.glc;
    for (const auto& second : {plain, other}) {
        std::mt19937_64 random(1);
        HeldStores held(0ns);
        held.hold(0, 0x100, bytes, plain, true, 0ns, random);
        held.hold(0, 0x104, bytes, second, true, 0ns, random);

        std::vector<HeldStores::Store> done;
        held.drain(0, 1ns, random, [&](const HeldStores::Store& store, auto) { done.push_back(store); });

        REQUIRE(done.size() == (second == plain ? 1 : 2));
        CHECK(done[0].length == (second == plain ? 8 : 4));
        CHECK(done.back().modifiers == second);
    }
}

TEST_CASE("a load that gave old bytes is kept once for each address", "[unit][gpu][wave]") {
    OrderBook book(1);
    for (const std::uint64_t address : {0x100, 0x200, 0x100, 0x200})
        book.note(StaleLoad{.address = address});

    CHECK(book.stale_loads(0).size() == 2);
}

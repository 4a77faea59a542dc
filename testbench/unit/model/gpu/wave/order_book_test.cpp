// What became of the order in which threads reached memory: the same thing is noted once, another one beside it.
#include "model/gpu/wave/held_stores.h"
#include "model/gpu/wave/order_book.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <chrono>
#include <random>
#include <vector>

using namespace std::chrono_literals;
using namespace model::gpu::wave;

TEST_CASE("a load that finds the same old bytes again is noted once, one of another address beside it",
          "[unit][gpu][wave]") {
    OrderBook book(2);
    const StaleLoad load{.thread = 1, .address = 0x100, .at = 3us, .is_early = false, .outcome = {.filled = 2us}};
    auto elsewhere = load, early = load, later = load;
    elsewhere.address = 0x200;
    early.is_early = true;
    later.outcome.filled = 4us;

    for (const auto& one : {load, load, elsewhere, load, early, later, later, early, elsewhere})
        book.note(one);

    std::vector<std::uint64_t> addresses;
    for (const auto& one : book.stale_loads(1))
        addresses.push_back(one.address);
    CHECK(addresses == std::vector<std::uint64_t>{0x100, 0x200, 0x100, 0x100});
    CHECK(book.stale_loads(0).empty());
}

TEST_CASE("stores join only where both go the same way", "[unit][gpu][wave]") {
    std::mt19937_64 random(1);
    const std::array<std::byte, 4> bytes{};
    const auto performed = [&](model::gpu::memory::Modifiers second) {
        HeldStores held(500ns);
        held.hold(0, 0x100, bytes, {}, true, 0us, random);
        held.hold(0, 0x104, bytes, second, true, 0us, random);
        unsigned count = 0;
        held.advance(1us, [&](const HeldStores::Store&, model::port::Time) { ++count; });
        return count;
    };

    CHECK(performed({}) == 1);
    CHECK(performed({.glc = true}) == 2);
}

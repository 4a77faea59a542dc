#include "model/pcie/posted_credits.h"

#include "testbench/harness/seed.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

using namespace std::chrono_literals;
using model::pcie::PostedCredits;
using model::port::Time;

namespace {

/// Sends one that needs `credits` at `at` and gives them back after `span`; returns when it began.
Time send(PostedCredits& room, std::uint64_t credits, Time at, Time span) {
    const auto begin = room.room(credits, at);
    room.take(credits, at, begin, begin + span);
    return begin;
}

} // namespace

TEST_CASE("who finds too few credits begins when enough have come back", "[unit][pcie]") {
    PostedCredits room(10);
    CHECK(send(room, 6, 0ns, 100ns) == 0ns);
    CHECK(send(room, 4, 0ns, 50ns) == 0ns);
    CHECK(send(room, 4, 10ns, 100ns) == 100ns); // in the order in which they came: the first six come back first
    CHECK(room.usage().waited == 90ns);
    CHECK(room.usage().longest_wait == 90ns);
    CHECK(send(room, 10, 300ns, 1ns) == 300ns);
}

TEST_CASE("what is booked for later takes no credits before", "[unit][pcie]") {
    PostedCredits room(10);
    CHECK(send(room, 10, 500ns, 100ns) == 500ns);
    CHECK(send(room, 10, 0ns, 100ns) == 0ns);
    CHECK(send(room, 1, 50ns, 10ns) == 100ns);
    CHECK(send(room, 1, 550ns, 10ns) == 600ns);
}

TEST_CASE("no more credits are taken at a time than there are, in whatever order writes are booked", "[unit][pcie]") {
    const auto seed = testbench::random_seed();
    INFO("seed " << seed);
    std::mt19937 random(seed);
    constexpr std::uint64_t limit = 64, each = 4;
    constexpr Time span = 800ns;
    PostedCredits room(limit);
    std::vector<Time> begun;
    for (int i = 0; i < 2000; ++i) // one each 25 ns, where one each 50 ns finds credits; some are booked 2 us ahead
        begun.push_back(send(room, each, i * 25ns + (random() % 4 == 0 ? 2us : 0us), span));

    for (const auto at : begun) {
        const auto taken = std::ranges::count_if(begun, [=](Time one) { return one <= at && at < one + span; });
        CHECK(static_cast<std::uint64_t>(taken) * each <= limit);
    }
    // And few are left unused: the last begins when 2000 of them have passed, or little later.
    CHECK(std::ranges::max(begun) < 2000 * 50ns + 5us);
    CHECK(room.usage().busy == 2000 * static_cast<std::int64_t>(each) * span);
}

TEST_CASE("a receiver without a limit keeps nobody waiting", "[unit][pcie]") {
    PostedCredits room(0);
    for (int i = 0; i < 100; ++i)
        CHECK(send(room, 1000, 0ns, 1s) == 0ns);
    CHECK(room.usage().waited == 0ns);
}

TEST_CASE("Little's law holds for credits: a sender gets as many bytes through as come back in time", "[unit][pcie]") {
    PostedCredits room(64);
    Time last{};
    for (int i = 0; i < 1000; ++i)
        last = send(room, 4, 0ns, 800ns);
    CHECK(last == (1000 / 16 - 1) * 800ns + (1000 % 16 != 0 ? 800ns : 0ns));
    CHECK(room.usage().busy == 1000 * 4 * 800ns);
}

TEST_CASE("a write larger than the room passes through it at the pace at which credits come back", "[unit][pcie]") {
    PostedCredits room(64);
    const auto small = room.passage(32, 10ns, 200ns);
    CHECK(small.credits == 32);
    CHECK(small.least == 0ns);
    const auto large = room.passage(640, 100ns, 200ns);
    CHECK(large.credits == 64);
    CHECK(large.least == 9 * 200ns);                 // and the last lot of ten comes back 200 ns later
    const auto slow = room.passage(640, 5us, 200ns); // the link is slower: the next one may follow closely
    CHECK(slow.credits == 32);
    CHECK(slow.least == 0ns);
}

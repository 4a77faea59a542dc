#include "model/time/schedule.h"

#include "testbench/harness/past.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <random>
#include <vector>

using namespace std::chrono_literals;
using model::port::Time;
using namespace model::time;

TEST_CASE("work begins when it arrives, or when the work before it ends", "[unit][time]") {
    Schedule schedule;

    CHECK(schedule.book(10ns, 5ns) == 10ns);
    CHECK(schedule.book(12ns, 5ns) == 15ns);
    CHECK(schedule.book(100ns, 1ns) == 100ns);
    CHECK(schedule.free_from() == 101ns);
}

TEST_CASE("work that arrives early takes a gap before work that was booked ahead, if it fits", "[unit][time]") {
    Schedule schedule;
    schedule.book(100ns, 10ns);

    CHECK(schedule.book(0ns, 101ns) == 110ns);
    CHECK(schedule.book(0ns, 40ns) == 0ns);
    CHECK(schedule.book(50ns, 10ns) == 50ns);
    CHECK(schedule.book(0ns, 10ns) == 40ns);
    CHECK(schedule.book(0ns, 40ns) == 60ns);
    CHECK(schedule.book(0ns, 1ns) == 211ns);
}

TEST_CASE("where gaps are lost, nothing passes what was booked before", "[unit][time]") {
    Schedule schedule{Gaps::lost};
    schedule.book(100ns, 10ns);

    CHECK(schedule.book(0ns, 1ns) == 110ns);
}

TEST_CASE("bookings never overlap, begin no earlier than they arrive, and nothing is moved", "[unit][time]") {
    const auto seed = GENERATE(range(1u, 20u));
    CAPTURE(seed);
    std::mt19937 random{seed};
    Schedule schedule;
    std::vector<std::pair<Time, Time>> taken;

    for (unsigned i = 0; i < 500; ++i) {
        const Time at{random() % 20'000}, span{1 + random() % 60};
        const auto promised = schedule.earliest(at, span);
        const auto begin = schedule.book(at, span);
        REQUIRE(begin == promised);
        REQUIRE(begin >= at);
        for (const auto& [from, until] : taken)
            REQUIRE((begin + span <= from || begin >= until));
        taken.emplace_back(begin, begin + span);
    }
}

TEST_CASE("as long as all gaps are remembered, the earliest that fits is taken", "[unit][time]") {
    const auto seed = GENERATE(range(1u, 50u));
    CAPTURE(seed);
    std::mt19937 random{seed};
    Schedule schedule;
    std::vector<bool> is_taken(10'000); // a picosecond each

    for (unsigned i = 0; i < 30; ++i) {
        const auto at = random() % 900, span = 1 + random() % 30;
        auto expected = at;
        for (auto t = at; t < expected + span; ++t)
            if (is_taken[t])
                expected = t + 1;
        REQUIRE(schedule.book(Time{at}, Time{span}) == Time{expected});
        std::fill_n(is_taken.begin() + static_cast<std::ptrdiff_t>(expected), span, true);
    }
}

TEST_CASE("work that may pause goes on in each gap on its way", "[unit][time]") {
    Schedule schedule;
    schedule.book(10ns, 10ns);
    schedule.book(25ns, 10ns); // free: 0 to 10, 20 to 25, and from 35 on

    const auto through = schedule.book_in_pieces(4ns, 14ns);
    CHECK(through.begin == 4ns);
    CHECK(through.end == 38ns); // 6 before the first, 5 between them, 3 behind
    CHECK(schedule.free_from() == 38ns);
    const auto inside = schedule.book_in_pieces(0ns, 3ns);
    CHECK(inside.begin == 0ns);
    CHECK(inside.end == 3ns);
    const auto rest = schedule.book_in_pieces(0ns, 2ns); // one is left before the first
    CHECK(rest.begin == 3ns);
    CHECK(rest.end == 39ns);
    const auto behind = schedule.book_in_pieces(50ns, 5ns);
    CHECK(behind.begin == 50ns);
    CHECK(behind.end == 55ns);
}

TEST_CASE("a line whose work may pause is idle only where there is none", "[unit][time]") {
    const auto seed = GENERATE(range(1u, 50u));
    CAPTURE(seed);
    std::mt19937 random{seed};
    Schedule schedule;
    std::vector<bool> is_taken(100'000); // a picosecond each

    for (unsigned i = 0; i < 300; ++i) {
        const auto at = random() % 9000, span = 1 + random() % 60;
        const auto taken = schedule.book_in_pieces(Time{at}, Time{span});
        auto end = at, left = span;
        for (; left != 0; ++end) {
            if (is_taken[end])
                continue;
            if (left-- == span)
                REQUIRE(taken.begin == Time{end});
            is_taken[end] = true;
        }
        REQUIRE(taken.end == Time{end});
    }
}

TEST_CASE("gaps that are past for everybody are forgotten, and nothing else changes by that", "[unit][time]") {
    const auto seed = GENERATE(range(1u, 20u));
    CAPTURE(seed);
    const testbench::NothingIsPast begin;
    const auto book_all = [&](bool forgets) {
        std::mt19937 random{seed};
        Schedule schedule;
        std::vector<Time> times;
        past_until = {};
        for (auto now = Time{}; times.size() < 2000; now += Time{random() % 40}) {
            if (forgets)
                past_until = now;
            const auto at = now + Time{random() % 3 == 0 ? random() % 2000 : 0}, span = Time{1 + random() % 30};
            if (random() % 2 == 0) {
                times.push_back(schedule.book(at, span));
            } else {
                const auto taken = schedule.book_in_pieces(at, span);
                times.push_back(taken.begin), times.push_back(taken.end);
            }
        }
        return times;
    };

    CHECK(book_all(true) == book_all(false));
}

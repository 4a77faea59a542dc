#include "model/hca/congestion/swift.h"

#include "model/hca/congestion/round_trips.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cmath>
#include <optional>

// The rules of algorithm 1 and of section 3.5 of Kumar et al., SIGCOMM 2020, each by its arithmetic.

using namespace std::chrono_literals;
using Catch::Approx;
using model::hca::congestion::Loss;
using model::hca::congestion::RoundTrips;
using model::hca::congestion::Swift;
using model::hca::congestion::SwiftConfig;
using model::port::Time;

namespace {

/// Without flow scaling: the target is 25 us whatever the window is.
SwiftConfig plain(double first = 10) {
    SwiftConfig config;
    config.flow_range = 0us;
    config.first_window = first;
    return config;
}
constexpr Time below = 20us, above = 50us;

double picoseconds(Time time) { return static_cast<double>(time.count()); }

} // namespace

TEST_CASE("the target delay of a window is the base and what flow scaling adds, between none and all of its range",
          "[unit][congestion][swift]") {
    SwiftConfig config;
    const auto alpha = picoseconds(config.flow_range) / (1 / std::sqrt(0.1) - 1 / std::sqrt(100.0));
    const auto target_at = [&](double window) {
        config.first_window = window;
        return picoseconds(Swift(config).target());
    };
    const auto base = picoseconds(config.base_target), range = picoseconds(config.flow_range);
    CHECK(target_at(100) == Approx(base));
    CHECK(target_at(400) == Approx(base)); // and not less
    CHECK(target_at(0.1) == Approx(base + range));
    CHECK(target_at(0.01) == Approx(base + range)); // and not more
    CHECK(target_at(4) == Approx(base + alpha / 2 - alpha / 10));
}

TEST_CASE("a delay below the target adds the increment to the window for each window of packets",
          "[unit][congestion][swift]") {
    const auto config = plain();
    Swift swift(config);
    swift.acknowledged({.packets = 3, .round_trip = below, .at = 100us});
    CHECK(swift.window() == Approx(10 + 3.0 / 10));
    swift.acknowledged({.packets = 1, .round_trip = below, .at = 101us});
    CHECK(swift.window() == Approx(10.3 + 1 / 10.3));
}

TEST_CASE("below one packet each packet adds the whole increment", "[unit][congestion][swift]") {
    auto config = plain(0.5);
    config.increase = 0.2;
    Swift swift(config);
    swift.acknowledged({.packets = 2, .round_trip = below, .at = 100us});
    CHECK(swift.window() == Approx(0.9));
}

TEST_CASE("a delay beyond the target takes beta times the share that is beyond it", "[unit][congestion][swift]") {
    const auto config = plain();
    Swift swift(config);
    swift.acknowledged({.packets = 1, .round_trip = 40us, .at = 100us});
    CHECK(swift.window() == Approx(10 * (1 - 0.8 * 15 / 40)));
}

TEST_CASE("a delay that is the target is no reason to grow", "[unit][congestion][swift]") {
    const auto config = plain();
    Swift swift(config);
    swift.acknowledged({.packets = 1, .round_trip = 25us, .at = 100us});
    CHECK(swift.window() == 10);
}

TEST_CASE("one decrease takes no more than max_mdf", "[unit][congestion][swift]") {
    const auto config = plain();
    Swift swift(config);
    swift.acknowledged({.packets = 1, .round_trip = 1ms, .at = 2ms}); // beta alone would take 78 %
    CHECK(swift.window() == Approx(5));
}

TEST_CASE("a window decreases once a round trip, and those that it could not decrease by do not put that off",
          "[unit][congestion][swift]") {
    const auto config = plain();
    Swift swift(config);
    swift.acknowledged({.packets = 1, .round_trip = above, .at = 100us});
    const auto once = swift.window();
    CHECK(once == Approx(10 * (1 - 0.8 * 25 / 50)));
    swift.acknowledged({.packets = 1, .round_trip = above, .at = 120us});
    swift.acknowledged({.packets = 1, .round_trip = above, .at = 149us});
    CHECK(swift.window() == once);
    swift.acknowledged({.packets = 1, .round_trip = above, .at = 150us});
    CHECK(swift.window() == Approx(once * 0.6));
}

TEST_CASE("packets that are answered without a measurement count with the next one that has it",
          "[unit][congestion][swift]") {
    const auto config = plain();
    Swift swift(config);
    swift.acknowledged({.packets = 4, .round_trip = std::nullopt, .at = 100us});
    CHECK(swift.window() == 10);
    swift.acknowledged({.packets = 1, .round_trip = below, .at = 101us});
    CHECK(swift.window() == Approx(10.5));
    // A loss says more of them than what comes behind it.
    swift.acknowledged({.packets = 4, .round_trip = std::nullopt, .at = 102us});
    swift.lost(Loss::refused, 103us);
    const auto halved = swift.window();
    CHECK(halved == Approx(10.5 / 2));
    swift.acknowledged({.packets = 1, .round_trip = below, .at = 104us});
    CHECK(swift.window() == Approx(halved + 1 / halved));
}

TEST_CASE("a packet that is sent again takes max_mdf, once a round trip", "[unit][congestion][swift]") {
    const auto config = plain();
    const auto how = GENERATE(Loss::refused, Loss::timeout);
    Swift swift(config);
    swift.acknowledged({.packets = 1, .round_trip = 25us, .at = 100us});
    swift.lost(how, 100us);
    CHECK(swift.window() == Approx(5));
    swift.lost(how, 124us);
    CHECK(swift.window() == Approx(5));
    swift.lost(how, 125us);
    CHECK(swift.window() == Approx(2.5));
}

TEST_CASE("after so many time-outs in a row the window is the least, and an answer or a NAK ends the row",
          "[unit][congestion][swift]") {
    const auto config = plain();
    Swift swift(config);
    const auto ended_by = GENERATE(0, 1, 2);
    for (unsigned i = 1; i < config.reset_after; ++i)
        swift.lost(Loss::timeout, i * 1ms);
    CHECK(swift.window() == Approx(10 / 16.0));
    if (ended_by == 1)
        swift.acknowledged({.packets = 1, .round_trip = std::nullopt, .at = 9ms});
    if (ended_by == 2)
        swift.lost(Loss::refused, 9ms);
    swift.lost(Loss::timeout, 10ms);
    if (ended_by == 0)
        CHECK(swift.window() == config.min_window);
    else
        CHECK(swift.window() > config.min_window);
}

TEST_CASE("a window is between the least and the largest", "[unit][congestion][swift]") {
    auto config = plain();
    config.min_window = 0.8;
    config.max_window = 12;
    config.first_window = GENERATE(0.001, 1e6);
    Swift swift(config);
    if (config.first_window < 1) {
        CHECK(swift.window() == 0.8);
        swift.lost(Loss::timeout, 1ms);
        CHECK(swift.window() == 0.8);
    } else {
        CHECK(swift.window() == 12);
        swift.acknowledged({.packets = 100, .round_trip = below, .at = 1ms});
        CHECK(swift.window() == 12);
    }
}

TEST_CASE("below one packet, packets leave a round trip by the window apart; from one on, at once",
          "[unit][congestion][swift]") {
    auto config = plain(0.5);
    config.increase = 0.1;
    Swift swift(config);
    swift.acknowledged({.packets = 1, .round_trip = 20us, .at = 100us}); // 0.6
    swift.sent({.bytes = 4096, .packets = 1, .at = 100us});
    CHECK(picoseconds(swift.next(100us)) == Approx(picoseconds(100us) + picoseconds(20us) / 0.6));
    CHECK(swift.asks_again() == swift.next(100us));
    CHECK(swift.is_silent(133us));
    CHECK_FALSE(swift.is_silent(134us));
    // A READ lets as many packets come as its answer has.
    swift.sent({.bytes = 100, .packets = 3, .at = 200us});
    CHECK(swift.next(200us) == 300us);
    // A pause that has begun stays, until the window needs none.
    swift.acknowledged({.packets = 1, .round_trip = 20us, .at = 220us}); // 0.7
    CHECK(swift.next(220us) == 300us);
    swift.sent({.bytes = 4096, .packets = 1, .at = 220us});
    CHECK(picoseconds(swift.next(220us)) == Approx(picoseconds(220us) + picoseconds(20us) / 0.7));
    swift.acknowledged({.packets = 4, .round_trip = 20us, .at = 230us}); // 1.1
    CHECK(swift.next(230us) <= 230us);
    CHECK_FALSE(swift.is_silent(230us));
    swift.sent({.bytes = 4096, .packets = 1, .at = 240us});
    CHECK(swift.next(240us) <= 240us);
}

TEST_CASE("a window of exactly one packet needs no pause, and ends the one that has begun",
          "[unit][congestion][swift]") {
    auto config = plain(0.5);
    config.increase = 0.25;
    Swift swift(config);
    swift.acknowledged({.packets = 1, .round_trip = 25us, .at = 100us});
    swift.sent({.bytes = 4096, .packets = 1, .at = 100us});
    CHECK(swift.next(100us) == 150us);
    CHECK(swift.is_silent(149us));
    CHECK_FALSE(swift.is_silent(150us));

    swift.acknowledged({.packets = 2, .round_trip = 20us, .at = 120us});
    REQUIRE(swift.window() == 1);
    CHECK(swift.next(120us) <= 120us);
    swift.sent({.bytes = 4096, .packets = 1, .at = 121us});
    CHECK(swift.next(121us) <= 121us);
}

TEST_CASE("a packet of a larger window that comes late from memory holds no other back", "[unit][congestion][swift]") {
    const auto config = plain();
    Swift swift(config);
    swift.sent({.bytes = 100, .packets = 1, .at = 300us});
    CHECK(swift.next(200us) <= 200us);
    CHECK_FALSE(swift.is_silent(200us));
}

TEST_CASE("a CNP says nothing to a window that follows delay", "[unit][congestion][swift]") {
    const auto config = plain();
    Swift swift(config);
    swift.notified(100us);
    CHECK(swift.window() == 10);
}

// --- what it measures ---

namespace {
abi::Psn psn(std::uint32_t number) { return abi::Psn{number}; }
} // namespace

TEST_CASE("a round trip is from when a packet has left until the answer of its number", "[unit][congestion]") {
    RoundTrips trips;
    trips.asked(psn(3), psn(3), false, 10us);
    trips.asked(psn(7), psn(7), false, 12us);
    trips.asked(psn(9), psn(9), false, 13us);
    CHECK(trips.answered(psn(2), 19us) == std::nullopt);
    CHECK(trips.answered(psn(3), 20us) == 10us);
    CHECK(trips.answered(psn(3), 21us) == std::nullopt); // a second one
    // An answer for all up to 8 says when 8 was answered, and nothing of 7.
    CHECK(trips.answered(psn(8), 22us) == std::nullopt);
    CHECK(trips.answered(psn(9), 23us) == 10us);
}

TEST_CASE("round trips of numbers that begin again are as those of others", "[unit][congestion]") {
    RoundTrips trips;
    trips.asked(psn(0xffffff), psn(0xffffff), false, 10us);
    trips.asked(psn(0x000002), psn(0x000002), false, 11us);
    CHECK(trips.is_waiting(psn(0xfffffe)));
    CHECK(trips.answered(psn(0xffffff), 20us) == 10us);
    CHECK(trips.is_waiting(psn(0)));
    CHECK(trips.answered(psn(0x000002), 20us) == 9us);
    CHECK_FALSE(trips.is_waiting(psn(3)));
}

TEST_CASE("a packet that was sent twice is not measured", "[unit][congestion]") {
    RoundTrips trips;
    trips.asked(psn(3), psn(3), false, 10us);
    trips.asked(psn(5), psn(5), false, 11us);
    trips.asked(psn(7), psn(7), false, 12us);
    trips.repeat_from(psn(5));
    CHECK_FALSE(trips.is_waiting(psn(3))); // what was asked for may not be answered now
    trips.asked(psn(5), psn(5), true, 30us);
    CHECK(trips.is_waiting(psn(3)));
    CHECK_FALSE(trips.is_waiting(psn(6)));       // 7 has not asked again
    CHECK(trips.answered(psn(3), 31us) == 21us); // this one was sent once
    CHECK(trips.answered(psn(5), 32us) == std::nullopt);
    CHECK(trips.answered(psn(7), 33us) == std::nullopt);
}

TEST_CASE("an answer is to come until that of the last number that was asked for is there", "[unit][congestion]") {
    RoundTrips trips;
    CHECK_FALSE(trips.is_waiting(psn(1)));
    trips.asked(psn(1), psn(4), false, 10us); // a READ of four packets
    CHECK(trips.answered(psn(1), 15us) == 5us);
    CHECK(trips.is_waiting(psn(2)));
    CHECK(trips.is_waiting(psn(4)));
    CHECK_FALSE(trips.is_waiting(psn(5)));
    // One that goes again alone does not take back what those behind it have asked for.
    trips.asked(psn(9), psn(9), false, 20us);
    trips.asked(psn(6), psn(6), true, 21us);
    CHECK(trips.is_waiting(psn(9)));
}

TEST_CASE("packets that find no room are answered, and not measured", "[unit][congestion]") {
    RoundTrips trips;
    for (std::uint32_t i = 0; i < 40; ++i)
        trips.asked(psn(i), psn(i), false, Time{1us} * i);
    CHECK(trips.is_waiting(psn(39)));
    for (std::uint32_t i = 0; i < 40; ++i)
        CHECK(trips.answered(psn(i), 100us) ==
              (i < 32 ? std::optional<Time>(Time{100us} - Time{1us} * i) : std::nullopt));
    trips.asked(psn(40), psn(40), false, 100us);
    CHECK(trips.answered(psn(40), 101us) == 1us);
}

TEST_CASE("what is sent again is forgotten, whatever number it begins with and however many were measured before",
          "[unit][congestion]") {
    const std::uint32_t first = GENERATE(0u, 3u, 0x900000u, 0xfffff0u);
    const std::uint32_t before = GENERATE(0u, 5u, 32u, 70u);
    RoundTrips trips;
    for (std::uint32_t i = 0; i < before; ++i) {
        trips.asked(psn(first) + i, psn(first) + i, false, 10us);
        CHECK(trips.answered(psn(first) + i, 12us) == 2us);
    }
    const auto next = psn(first) + before;
    trips.asked(next, next, false, 20us);
    trips.asked(next + 1, next + 1, false, 20us);

    trips.repeat_from(next);

    CHECK(trips.answered(next, 30us) == std::nullopt);
    CHECK(trips.answered(next + 1, 30us) == std::nullopt);
    trips.asked(next + 2, next + 2, false, 40us);
    CHECK(trips.answered(next + 2, 43us) == 3us);
}

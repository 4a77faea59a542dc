// How a reaction point counts: what alpha, the target and the rate become by CNPs, time and bytes, each by its
// arithmetic (Zhu et al., SIGCOMM 2015, figure 7).
#include "model/hca/congestion/reaction_point.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace std::chrono_literals;
using Catch::Approx;
using model::hca::congestion::DcqcnConfig;
using model::hca::congestion::ReactionPoint;
using model::port::Time;

namespace {
constexpr double port = 100'000; ///< Mbit/s
} // namespace

TEST_CASE("a CNP lowers the rate to come back to if that is chosen, and leaves it if nothing is",
          "[unit][congestion]") {
    DcqcnConfig config;
    config.clamp_target = GENERATE(false, true);
    config.clamp_target_after_increase = false;
    ReactionPoint point(config, port, 0us);
    point.notified(0us);
    point.sent({.bytes = 0, .at = config.time_reset});
    const auto raised = point.rate_mbps();

    point.notified(config.time_reset + 1us);

    CHECK(point.target_mbps() == Approx(config.clamp_target ? raised : port));
}

TEST_CASE("alpha gains by a CNP when the period of it has ended, and loses in the next one", "[unit][congestion]") {
    const DcqcnConfig config;
    ReactionPoint point(config, port, 0us);
    point.notified(100us);
    const auto before = point.alpha();
    point.notified(100us + 500ns);
    CHECK(point.alpha() == before);
    point.sent({.bytes = 0, .at = 101us});
    const auto gained = before * 1019 / 1024 + 5;
    CHECK(point.alpha() == Approx(gained));
    point.sent({.bytes = 0, .at = 102us});
    CHECK(point.alpha() == Approx(gained * 1019 / 1024));
}

namespace {
/// One whose target is below the rate of the port, so that increases of it are seen: by bytes or by time, 1000 bytes
/// and 300 us each.
struct Recovering {
    DcqcnConfig config;
    ReactionPoint point;
    double target;
    Time now = 10us;
    Recovering() : config(chosen()), point(config, port, 0us) {
        point.notified(0us);
        point.notified(now);
        target = point.target_mbps();
    }
    static DcqcnConfig chosen() {
        DcqcnConfig config;
        config.byte_reset = 1000;
        config.clamp_target = true;
        return config;
    }
    void by_bytes(std::uint64_t bytes = 1000) { point.sent({.bytes = bytes, .at = now}); }
    void by_time() { point.sent({.bytes = 0, .at = now += config.time_reset}); }
    double added() const { return point.target_mbps() - target; }
};
} // namespace

TEST_CASE("time alone, or bytes alone, add to the target after fast recovery, and never as much as both together",
          "[unit][congestion]") {
    const bool is_time = GENERATE(false, true);
    Recovering bench;
    const auto increase = [&] { is_time ? bench.by_time() : bench.by_bytes(); };
    increase();
    CHECK(bench.added() == Approx(0).margin(1e-6));
    for (int i = 1; i <= 3; ++i) {
        increase();
        CHECK(bench.added() == Approx(i * bench.config.ai_rate_mbps));
    }
}

TEST_CASE("a CNP begins fast recovery again, and the count of bytes to the next increase", "[unit][congestion]") {
    const bool is_time = GENERATE(false, true);
    Recovering bench;
    const auto increase = [&] { is_time ? bench.by_time() : bench.by_bytes(); };
    increase(), increase();
    bench.by_bytes(600);

    bench.point.notified(bench.now += 10us);

    bench.target = bench.point.target_mbps();
    const auto rate = bench.point.rate_mbps();
    bench.by_bytes(600);
    CHECK(bench.point.rate_mbps() == rate);
    is_time ? bench.by_time() : bench.by_bytes(400);
    CHECK(bench.point.rate_mbps() == Approx((rate + bench.target) / 2));
    CHECK(bench.added() == Approx(0).margin(1e-6));
}

TEST_CASE("the rate to come back to is never above that of the port", "[unit][congestion]") {
    DcqcnConfig config;
    config.byte_reset = 4'000'000'000;
    ReactionPoint point(config, port, 0us);
    point.notified(0us);
    point.sent({.bytes = 0, .at = 3 * config.time_reset});
    CHECK(point.rate_mbps() < port);
    CHECK(point.target_mbps() == port);
}

TEST_CASE("whoever is held back asks again when the packet is due, or at the next increase, and never in the past",
          "[unit][congestion]") {
    DcqcnConfig config;
    config.time_reset = 50us;
    ReactionPoint point(config, port, 0us); // at the rate of its port
    point.sent({.bytes = 125'000, .at = 1ms});
    CHECK(point.next(1ms) == 1ms + 10us);
    CHECK(point.asks_again() == 1ms + 10us);
    point.sent({.bytes = 1'250'000, .at = 1ms});
    CHECK(point.asks_again() == 1ms + 50us);
    CHECK(point.next(1ms + 20us) == 1ms + 110us);
    CHECK(point.asks_again() == 1ms + 70us);
    CHECK(point.next(1ms + 5us) == 1ms + 110us); // somebody who was there before
    CHECK(point.asks_again() == 1ms + 70us);
}

TEST_CASE("a queue pair that hears nothing comes back to the rate of its port by halves, and has it after nine of them",
          "[unit][congestion]") {
    DcqcnConfig config;
    config.byte_reset = 4'000'000'000;
    ReactionPoint point(config, port, 0us);
    CHECK_FALSE(point.is_over(0us)); // one that has not been slowed down yet still will be
    point.notified(0us);
    CHECK_FALSE(point.is_over(1us));
    // Half of the way each time: after eight it is at 99.8 %, after nine at 99.9 %, which is counted as all of it.
    CHECK_FALSE(point.is_over(8 * config.time_reset));
    CHECK(point.is_over(9 * config.time_reset));
    CHECK(point.rate_mbps() == port);
}

TEST_CASE("at the rate of its port nothing grows by time", "[unit][congestion]") {
    DcqcnConfig config;
    config.gd = 20; // a CNP takes a thousandth
    config.first_rate_mbps = 999.5;
    config.clamp_target = true;
    config.byte_reset = 1000;
    ReactionPoint point(config, 1000, 0us);
    point.notified(0us);
    point.notified(10us);
    point.sent({.bytes = 1000, .at = 11us});
    REQUIRE(point.rate_mbps() == 1000);

    point.sent({.bytes = 0, .at = 11us + 4 * config.time_reset});

    CHECK(point.target_mbps() == 999.5);
}

TEST_CASE("exactly 99.9 % of the rate of the port are not all of it yet", "[unit][congestion]") {
    DcqcnConfig config;
    config.first_rate_mbps = 998;
    ReactionPoint point(config, 1000, 0us);
    point.notified(0us);
    point.sent({.bytes = 0, .at = config.time_reset});
    CHECK(point.rate_mbps() == 999);
    CHECK_FALSE(point.is_over(config.time_reset));
}

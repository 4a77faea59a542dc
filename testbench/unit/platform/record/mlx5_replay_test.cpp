// An HCA with its firmware, driven by the stack that drives silicon: recorded from probe to teardown, and played again
// without driver, host or peer.
#include "testbench/unit/platform/record/hca_session.h"

#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace hca_session;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("an HCA plays its whole life again, bit for bit, at either end of the cable", "[unit][record]") {
    const auto config = configured(GENERATE(false, true));
    const auto trace = recorded(config);

    const auto left = play(trace, config, left_interfaces);
    const auto right = play(trace, Hosts::neighbour(config), right_interfaces);
    const auto again = play(trace, config, left_interfaces);

    CHECK(why(left) == "");
    CHECK(why(right) == "");
    CHECK(why(again) == "");
    CHECK(left.calls > 100);
    CHECK(left.records == again.records);
}

TEST_CASE("recording changes nothing of what a session does", "[unit][record]") {
    const auto config = configured(true);
    Recording recording;

    CHECK(session(config, &recording) == session(config, nullptr));
    CHECK(recorded(config) == recorded(config));
}

TEST_CASE("a slower HCA diverges in time alone", "[unit][record]") {
    auto config = configured(true);
    const auto trace = recorded(config);
    config.wqe_latency += 10ns;

    const auto strict = play(trace, config, left_interfaces);
    const auto untimed = play(trace, config, left_interfaces, Replay::Mode::untimed);

    CHECK(why(untimed) == "");
    REQUIRE(strict.divergence);
    CHECK(strict.divergence->kind == Divergence::Kind::time);
    CHECK(strict.records > 100); // the bring-up is the same
}

TEST_CASE("an HCA of another size diverges in its capabilities", "[unit][record]") {
    auto config = configured(false);
    const auto trace = recorded(config);
    config.log_max_qp -= 1;

    const auto result = play(trace, config, left_interfaces);

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Divergence::Kind::field);
    CHECK_THAT(result.divergence->expected, ContainsSubstring("a write of"));
}

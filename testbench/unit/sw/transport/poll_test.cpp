#include "sw/transport/poll.h"

#include "testbench/unit/sw/fake_transport.h"

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;

TEST_CASE("a wait ends when the condition holds, and lets the device run until then", "[unit][base]") {
    testbench::FakeTransport transport;
    int steps = 0;
    transport.on_relax = [&] { ++steps; };

    CHECK(sw::transport::poll_until(transport, 100us, [&] { return steps == 7; }));
    CHECK(steps == 7);
}

TEST_CASE("a wait ends with its deadline when the condition never holds", "[unit][base]") {
    testbench::FakeTransport transport;

    CHECK_FALSE(sw::transport::poll_until(transport, 100us, [] { return false; }));
    CHECK(transport.time >= 100us);
    CHECK(transport.time < 110us);
}

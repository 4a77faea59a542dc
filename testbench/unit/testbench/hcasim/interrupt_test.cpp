#include "testbench/hcasim/interrupt.h"

#include <catch2/catch_test_macros.hpp>

#include <csignal>

using hcasim::Interrupt;

namespace {

auto handler_of(int number) {
    struct sigaction action{};
    sigaction(number, nullptr, &action);
    return action.sa_handler;
}

} // namespace

TEST_CASE("the first signal is a wish, and the second one of its kind ends the program", "[unit][hcasim]") {
    for (const int number : {SIGINT, SIGTERM}) {
        const auto before = handler_of(number);
        scenario::Stop stop;
        {
            Interrupt interrupt(stop);
            CHECK(handler_of(number) != SIG_DFL);
            std::raise(number);
            CHECK(handler_of(number) == SIG_DFL);
            CHECK_FALSE(stop.is_requested());

            interrupt.look();
            CHECK(interrupt.number() == number);
            CHECK(stop.is_requested());
        }
        CHECK(handler_of(number) == before);
    }
}

TEST_CASE("a reader that goes away ends nothing while a run lasts", "[unit][hcasim]") {
    const auto before = handler_of(SIGPIPE);
    {
        scenario::Stop stop;
        const Interrupt interrupt(stop);
        CHECK(handler_of(SIGPIPE) == SIG_IGN);
    }
    CHECK(handler_of(SIGPIPE) == before);
}

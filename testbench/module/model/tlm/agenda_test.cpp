#include "model/tlm/kernel_clock.h"

#include <catch2/catch_test_macros.hpp>

#include <systemc>

#include <chrono>
#include <deque>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using model::port::Time;
using model::tlm::Calls;
using model::tlm::kernel_now;
using model::tlm::KernelClock;
using model::tlm::Precedence;

namespace {

void run_for(Time time) { sc_core::sc_start(model::tlm::to_sc(time)); }

} // namespace

TEST_CASE("what is due at one time is done in the order of construction, whoever has asked first", "[module][tlm]") {
    std::vector<std::pair<int, Time>> done;
    std::deque<KernelClock> clocks;
    for (int number = 0; number < 20; ++number)
        clocks.emplace_back([&, number](Time now) { done.emplace_back(number, now); });
    clocks.emplace_back([&](Time now) { done.emplace_back(99, now); }, Calls::at_once, Precedence::first);

    for (int number = 19; number >= 0; --number)
        clocks[static_cast<std::size_t>(number)].wake_at(number % 2 == 0 ? 10ns : 20ns);
    clocks[3].wake_at(10ns); // earlier than it has asked for before
    clocks.back().wake_at(10ns);
    run_for(1us);

    std::vector<std::pair<int, Time>> expected{{99, 10ns}};
    for (const Time at : {Time(10ns), Time(20ns)})
        for (int number = 0; number < 20; ++number)
            if ((number % 2 == 0 || number == 3) == (at == 10ns))
                expected.emplace_back(number, at);
    CHECK(done == expected);
}

TEST_CASE("a clock that asks for now while it is called is called once more", "[module][tlm]") {
    std::vector<Time> done;
    KernelClock* self = nullptr;
    KernelClock clock([&](Time now) {
        done.push_back(now);
        if (done.size() == 1)
            self->wake_at(now);
        if (done.size() == 2)
            self->wake_at(now + 5ns);
    });
    self = &clock;

    clock.wake_at(3ns);
    run_for(1us);

    CHECK(done == std::vector<Time>{3ns, 3ns, 8ns});
}

TEST_CASE("a clock that has gone is not called", "[module][tlm]") {
    int calls = 0;
    {
        KernelClock gone([&](Time) { ++calls; });
        gone.wake_at(5ns);
    }
    KernelClock stays([&](Time) { ++calls; });
    stays.wake_at(5ns);
    run_for(1us);

    CHECK(calls == 1);
}

#include "model/tlm/process.h"

#include "model/tlm/kernel_clock.h"

#include <catch2/catch_test_macros.hpp>

#include <systemc>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using model::port::Time;
using model::tlm::Calls;
using model::tlm::kernel_now;
using model::tlm::KernelClock;
using model::tlm::Turn;

namespace {

/// A device that is woken by its clock, and may wait in the middle for somebody outside.
struct Device final : sc_core::sc_module {
    std::vector<Time> woken;
    std::function<void()> on_wake;
    KernelClock clock;
    Device(const sc_core::sc_module_name& name, Calls calls)
        : sc_module(name), clock(
                               [this](Time now) {
                                   woken.push_back(now);
                                   if (on_wake)
                                       on_wake();
                               },
                               calls) {}
};

void spawn(std::function<void()> body) { sc_core::sc_spawn(std::move(body), sc_core::sc_gen_unique_name("source")); }

void run_for(Time time) { sc_core::sc_start(model::tlm::to_sc(time)); }

} // namespace

TEST_CASE("what comes due while a clock's device waits is done afterwards, once", "[module][tlm]") {
    Device device("device", Calls::may_wait);
    sc_core::sc_event answer;
    device.on_wake = [&] {
        if (device.woken.size() == 1)
            sc_core::wait(answer);
    };
    run_for(1us);
    device.clock.wake_at(2us);
    run_for(2us);
    device.clock.wake_at(4us);
    device.clock.wake_at(5us);
    run_for(7us);
    CHECK(device.woken == std::vector<Time>{2us});

    answer.notify();
    run_for(1us);
    CHECK(device.woken == std::vector<Time>{2us, 10us});

    device.clock.wake_at(12us);
    run_for(5us);
    CHECK(device.woken == std::vector<Time>{2us, 10us, 12us});
}

TEST_CASE("a time asked for after a wake that was due at once is not lost", "[module][tlm]") {
    Device at_once("at_once", Calls::at_once), may_wait("may_wait", Calls::may_wait);
    for (auto* device : {&at_once, &may_wait})
        device->on_wake = [device] {
            if (device->woken.size() == 1)
                device->clock.wake_at(kernel_now());
            else if (device->woken.size() == 2)
                device->clock.wake_at(kernel_now() + Time{3us});
        };
    for (auto* device : {&at_once, &may_wait})
        device->clock.wake_at(2us);

    run_for(20us);

    CHECK(at_once.woken == std::vector<Time>{2us, 2us, 5us});
    CHECK(may_wait.woken == at_once.woken);
}

TEST_CASE("a clock whose calls return at once and one whose calls may wait ring at the same times", "[module][tlm]") {
    Device at_once("at_once", Calls::at_once), may_wait("may_wait", Calls::may_wait);
    for (auto* device : {&at_once, &may_wait})
        device->on_wake = [device] {
            if (device->woken.size() < 4)
                device->clock.wake_at(kernel_now() + Time{3ns});
        };
    for (auto* device : {&at_once, &may_wait}) {
        device->clock.wake_at(20ns);
        device->clock.wake_at(10ns);
    }
    run_for(1us);
    CHECK(at_once.woken == std::vector<Time>{10ns, 13ns, 16ns, 19ns});
    CHECK(may_wait.woken == at_once.woken);
}

TEST_CASE("a device takes part in one chain of calls at a time, and lets its own come back to it", "[module][tlm]") {
    Turn turn(Calls::may_wait);
    sc_core::sc_event answer;
    std::string order;
    spawn([&] {
        const Turn::Hold hold(turn);
        order += "first ";
        {
            const Turn::Hold again(turn);
            order += "inside ";
        }
        sc_core::wait(answer);
        order += "answered ";
    });
    run_for(1ns);
    spawn([&] {
        const Turn::Hold hold(turn);
        order += "second ";
    });
    spawn([&] { order += "elsewhere "; });
    run_for(1ns);
    CHECK(order == "first inside elsewhere ");

    answer.notify();
    run_for(1ns);
    CHECK(order == "first inside elsewhere answered second ");
}

TEST_CASE("who comes to a device again and again keeps nobody out who has been waiting", "[module][tlm]") {
    Turn turn(Calls::may_wait);
    std::string order;
    spawn([&] {
        for (unsigned i = 0; i < 3; ++i) {
            const Turn::Hold hold(turn);
            order += "again ";
            sc_core::wait(1, sc_core::SC_NS);
        }
    });
    for (const auto* name : {"first ", "second "})
        spawn([&, name] {
            const Turn::Hold hold(turn);
            order += name;
        });

    run_for(10ns);

    CHECK(order == "again first second again again ");
}

TEST_CASE("who cannot wait enters a free device before those who have been waiting", "[module][tlm]") {
    Turn turn(Calls::may_wait);
    sc_core::sc_event answer, released;
    std::string order;
    sc_core::sc_spawn_options options;
    options.spawn_method();
    options.dont_initialize();
    options.set_sensitivity(&released);
    sc_core::sc_spawn(
        [&] {
            const Turn::Hold hold(turn);
            order += "method ";
        },
        "method", &options);
    spawn([&] {
        {
            const Turn::Hold hold(turn);
            sc_core::wait(answer);
        }
        released.notify();
    });
    run_for(1ns);
    spawn([&] {
        const Turn::Hold hold(turn);
        order += "thread ";
    });
    run_for(1ns);
    REQUIRE(order.empty());

    answer.notify();
    run_for(1ns);

    CHECK(order == "method thread ");
}

TEST_CASE("where calls return at once nobody waits for a turn", "[module][tlm]") {
    Turn turn(Calls::at_once);
    const Turn::Hold hold(turn);
    bool is_in = false;
    spawn([&] {
        const Turn::Hold inside(turn);
        is_in = true;
    });
    run_for(1ns);
    CHECK(is_in);
}

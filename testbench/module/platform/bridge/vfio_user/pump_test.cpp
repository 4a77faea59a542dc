#include "platform/bridge/vfio_user/pump.h"

#include "model/tlm/kernel_clock.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <catch2/catch_test_macros.hpp>

#include <systemc>

#include <functional>
#include <vector>

using namespace std::chrono_literals;
using model::port::Time;
using platform::bridge::vfio_user::Pump;
using model::tlm::kernel_now;

namespace {

/// Something in the simulation that asks for time.
struct Alarm final : sc_core::sc_module {
    std::vector<Time> rung;
    std::function<void()> on_ring;
    model::tlm::KernelClock clock{[this](Time now) {
        rung.push_back(now);
        if (on_ring)
            on_ring();
    }};
    explicit Alarm(const sc_core::sc_module_name& name) : sc_module(name) {}
};

struct Bench {
    Alarm alarm{"alarm"};
    boost::asio::io_context io;
    Pump pump{io};
    Bench() { sc_core::sc_start(sc_core::SC_ZERO_TIME); }
    /// Runs the pump for so long on the wall.
    void run_for(std::chrono::milliseconds time) {
        boost::asio::steady_timer timer(io, time);
        timer.async_wait([this](auto) { pump.stop(); });
        pump.run();
    }
};

} // namespace

TEST_CASE("what is due soon happens at once", "[module][vfio_user]") {
    Bench bench;
    bench.alarm.clock.wake_at(Time{10us});
    bench.alarm.on_ring = [&] { bench.pump.stop(); };
    bench.pump.run();
    CHECK(bench.alarm.rung == std::vector{Time{10us}});
}

TEST_CASE("a timer in the simulation does not come before its time on the wall", "[module][vfio_user]") {
    Bench bench;
    bench.alarm.clock.wake_at(Time{20ms});
    bench.alarm.on_ring = [&] { bench.pump.stop(); };
    const auto begin = std::chrono::steady_clock::now();
    bench.pump.run();
    CHECK(bench.alarm.rung == std::vector{Time{20ms}});
    CHECK(std::chrono::steady_clock::now() - begin >= 19ms);
}

TEST_CASE("simulated time keeps up while nothing happens", "[module][vfio_user]") {
    Bench bench;
    boost::asio::steady_timer wake_up(bench.io, 10ms);
    wake_up.async_wait([](auto) {});
    bench.run_for(20ms);
    CHECK(kernel_now() >= Time{9ms});
    CHECK(kernel_now() < Time{2s});
    const auto ended = kernel_now();
    bench.pump.catch_up(); // not running: nothing moves
    CHECK(kernel_now() == ended);
}

TEST_CASE("a handler after a sleep finds the present time", "[module][vfio_user]") {
    Bench bench;
    Time seen{};
    boost::asio::steady_timer timer(bench.io);
    boost::asio::post(bench.io, [&] { // when the pump runs, however long it takes until then
        timer.expires_after(20ms);
        timer.async_wait([&](auto) {
            bench.pump.catch_up();
            seen = kernel_now();
            bench.pump.stop();
        });
    });
    bench.pump.run();
    CHECK(seen >= Time{19ms});
}

TEST_CASE("an endless chain of events does not keep sockets from being served", "[module][vfio_user]") {
    Bench bench;
    bench.alarm.on_ring = [&] { bench.alarm.clock.wake_at(kernel_now() + Time{1ns}); };
    bench.alarm.clock.wake_at(Time{1ns});
    bench.run_for(5ms);
    CHECK(bench.alarm.rung.size() > 100);
}

TEST_CASE("the pump says when it goes to sleep", "[module][vfio_user]") {
    Bench bench;
    unsigned idle = 0;
    bench.pump.on_idle = [&] { ++idle; };
    bench.run_for(5ms);
    CHECK(idle >= 1);
    CHECK(idle < 1000);
}

TEST_CASE("while a device waits for somebody outside, timers wait with it", "[module][vfio_user]") {
    Bench bench;
    bench.pump.is_waiting = [] { return true; };
    bench.alarm.clock.wake_at(kernel_now() + Time{10us}); // what is due soon is done at once all the same
    bench.alarm.on_ring = [&] {
        if (bench.alarm.rung.size() == 1)
            bench.alarm.clock.wake_at(kernel_now() + Time{20ms});
        else
            bench.pump.stop();
    };
    const auto begin = std::chrono::steady_clock::now();
    bench.pump.run();
    const auto slow = std::chrono::steady_clock::now() - begin;

    CHECK(bench.alarm.rung.size() == 2);
    CHECK(slow >= 19ms * Pump::slowdown);
}

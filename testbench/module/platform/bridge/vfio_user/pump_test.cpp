#include "platform/bridge/vfio_user/pump.h"

#include "model/tlm/kernel_clock.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <catch2/catch_test_macros.hpp>

#include <systemc>

#include <array>
#include <functional>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using model::port::Time;
using model::tlm::kernel_now;
using platform::bridge::vfio_user::Pump;

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
    boost::asio::steady_timer wake_up(bench.io);
    bool is_over = false;
    // Before it sleeps the pump has looked at the wall's time: whatever the machine does meanwhile, the second time is
    // 10 ms after the first.
    bench.pump.on_idle = [&] {
        if (is_over) {
            bench.pump.stop();
            boost::asio::post(bench.io, [] {}); // ends the sleep that begins now
            return;
        }
        wake_up.expires_after(10ms);
        wake_up.async_wait([&](auto) { is_over = true; });
    };
    const auto begin = std::chrono::steady_clock::now();
    bench.pump.run();
    const auto taken = std::chrono::steady_clock::now() - begin;
    CHECK(kernel_now() >= Time{10ms});
    CHECK(kernel_now() <= std::chrono::duration_cast<Time>(taken));
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
    constexpr std::size_t some = 100, far_too_many = 100'000;
    bench.alarm.on_ring = [&] {
        if (bench.alarm.rung.size() == far_too_many)
            return bench.pump.stop();
        bench.alarm.clock.wake_at(kernel_now() + Time{1ns});
    };
    bench.alarm.clock.wake_at(Time{1ns});
    std::function<void()> serve = [&] { // as a socket that always has something
        if (bench.alarm.rung.size() < some)
            boost::asio::post(bench.io, serve);
        else
            bench.pump.stop();
    };
    boost::asio::post(bench.io, serve);
    bench.pump.run();
    CHECK(bench.alarm.rung.size() >= some);
    CHECK(bench.alarm.rung.size() < far_too_many);
}

TEST_CASE("the pump says when it goes to sleep, and sleeps until there is something", "[module][vfio_user]") {
    Bench bench;
    unsigned idle = 0;
    boost::asio::steady_timer end(bench.io);
    bench.pump.on_idle = [&] {
        ++idle;
        end.expires_after(5ms);
        end.async_wait([&](auto) { bench.pump.stop(); });
    };
    bench.pump.run();
    CHECK(idle == 1);
}

TEST_CASE("what is polled is looked at again and again, without a sleep that nobody ends", "[module][vfio_user]") {
    Bench bench;
    unsigned looks = 0;
    bench.pump.is_polling = [] { return true; };
    bench.pump.poll = [&] {
        if (++looks == 200)
            bench.pump.stop();
        return false;
    };
    bench.pump.run(); // with nothing else that could end a sleep
    CHECK(looks == 200);
}

TEST_CASE("the longer nothing is found the longer are the sleeps, up to a bound, and work makes them short again",
          "[module][vfio_user]") {
    Alarm alarm("alarm");
    boost::asio::io_context io;
    Pump pump(io, {.first_sleep = 1ms, .longest_sleep = 8ms, .spin = 0us});
    using Clock = std::chrono::steady_clock;
    std::vector<Clock::time_point> slept;
    pump.is_polling = [] { return true; };
    pump.on_idle = [&] {
        slept.push_back(Clock::now());
        if (slept.size() == 12)
            pump.stop();
    };
    bool is_found = false;
    pump.poll = [&] { return slept.size() == 6 && !std::exchange(is_found, true); };
    pump.run();

    REQUIRE(slept.size() >= 12);
    constexpr std::array<Clock::duration, 11> least{1ms, 2ms, 4ms, 8ms, 8ms, 8ms, 1ms, 2ms, 4ms, 8ms, 8ms};
    for (std::size_t i = 0; i < least.size(); ++i) {
        INFO("sleep " << i);
        CHECK(slept[i + 1] - slept[i] >= least.at(i));
    }
}

TEST_CASE("who is always busy keeps nobody from tidying up", "[module][vfio_user]") {
    Alarm alarm("alarm");
    boost::asio::io_context io;
    Pump pump(io, {.spin = 1h, .longest_busy = 5ms});
    std::function<void()> again = [&] { boost::asio::post(io, again); };
    again();
    const auto begin = std::chrono::steady_clock::now();
    unsigned tidied = 0;
    pump.on_idle = [&] {
        if (++tidied == 3)
            pump.stop();
    };
    boost::asio::steady_timer late(io, 10s);
    late.async_wait([&](auto) { pump.stop(); });
    pump.run();

    CHECK(tidied == 3);
    CHECK(std::chrono::steady_clock::now() - begin >= 15ms);
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

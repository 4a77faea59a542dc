#include "model/tlm/alarm.h"
#include "model/tlm/kernel_clock.h"
#include "testbench/harness/isolate.h"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include <systemc>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <random>
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

TEST_CASE("a process of the kernel runs at its own time, though the agenda goes on by itself", "[module][tlm]") {
    std::vector<std::pair<char, Time>> done;
    KernelClock* self = nullptr;
    KernelClock clock([&](Time now) {
        done.emplace_back('c', now);
        if (now < Time(60ns))
            self->wake_at(now + 10ns);
    });
    self = &clock;
    sc_core::sc_spawn([&] {
        for (const Time span : {Time(25ns), Time(5ns), Time(15ns)}) { // to 25, 30 and 45 ns
            sc_core::wait(model::tlm::to_sc(span));
            CHECK(model::tlm::from_sc(sc_core::sc_time_stamp()) == kernel_now());
            done.emplace_back('p', kernel_now());
        }
    });

    clock.wake_at(10ns);
    model::tlm::run();

    CHECK(done.size() == 9);
    CHECK(std::ranges::is_sorted(done, {}, &std::pair<char, Time>::second));
    for (const Time at : {Time(25ns), Time(30ns), Time(45ns)})
        CHECK(std::ranges::count(done, std::pair{'p', at}) == 1);
    CHECK(kernel_now() == 60ns);
}

TEST_CASE("what the agenda notifies runs at the time of that call, before anything that is due later",
          "[module][tlm]") {
    sc_core::sc_event now_event, later_event;
    std::vector<std::pair<char, Time>> done;
    const auto note_at = [&](const char* name, sc_core::sc_event& event, char what) {
        sc_core::sc_spawn(
            [&done, &event, what] {
                sc_core::wait(event);
                done.emplace_back(what, model::tlm::from_sc(sc_core::sc_time_stamp()));
            },
            name);
    };
    note_at("now", now_event, 'n');
    note_at("later", later_event, 'l');
    KernelClock* self = nullptr;
    KernelClock clock([&](Time now) {
        done.emplace_back('c', now);
        if (now == Time(20ns)) {
            model::tlm::notify_now(now_event);
            model::tlm::notify_at(later_event, 33ns);
        }
        if (now < Time(40ns))
            self->wake_at(now + 10ns);
    });
    self = &clock;

    clock.wake_at(10ns);
    model::tlm::run();

    CHECK(done == std::vector<std::pair<char, Time>>{
                      {'c', 10ns}, {'c', 20ns}, {'n', 20ns}, {'c', 30ns}, {'l', 33ns}, {'c', 40ns}});
}

TEST_CASE("what is due one after the other takes no cycle of the kernel each", "[module][tlm]") {
    int calls = 0;
    KernelClock* self = nullptr;
    KernelClock clock([&](Time now) {
        if (++calls < 1000)
            self->wake_at(now + 7ns);
    });
    self = &clock;
    const auto before = sc_core::sc_delta_count();

    clock.wake_at(7ns);
    model::tlm::run();

    CHECK(calls == 1000);
    CHECK(kernel_now() == Time(7ns) * 1000);
    CHECK(sc_core::sc_delta_count() - before < 5);
}

TEST_CASE("a run that is limited or paused ends there, and goes on where it was", "[module][tlm]") {
    std::vector<Time> done;
    KernelClock* self = nullptr;
    KernelClock clock([&](Time now) {
        done.push_back(now);
        if (now == Time(50ns))
            model::tlm::pause();
        if (now < Time(80ns))
            self->wake_at(now + 10ns);
    });
    self = &clock;

    clock.wake_at(10ns);
    model::tlm::run_for(25ns);
    CHECK(done == std::vector<Time>{10ns, 20ns});
    model::tlm::run();
    CHECK(done.back() == 50ns);
    CHECK(kernel_now() == 50ns);
    model::tlm::run();
    CHECK(done.back() == 80ns);
    CHECK(done.size() == 8);
}

TEST_CASE("processes that wait for one time go on in the order of their alarms, whoever has asked first",
          "[module][tlm]") {
    std::deque<model::tlm::Alarm> alarms(5);
    std::vector<int> done;
    for (const int number : {3, 0, 4, 1, 2})
        sc_core::sc_spawn([&, number] {
            alarms[static_cast<std::size_t>(number)].wait_until(number == 3 ? Time(9ns) : Time(10ns));
            if (number == 3)
                alarms[3].wait_until(10ns);
            CHECK(model::tlm::from_sc(sc_core::sc_time_stamp()) == 10ns);
            done.push_back(number);
        });

    model::tlm::run();

    CHECK(done == std::vector{0, 1, 2, 3, 4});
}

TEST_CASE("an alarm that another event forestalls rings no earlier than it is asked to afterwards", "[module][tlm]") {
    model::tlm::Alarm alarm;
    sc_core::sc_event other;
    std::vector<Time> done;
    sc_core::sc_spawn([&] {
        for (const Time until : {Time(50ns), Time(70ns), Time(40ns), model::port::never}) {
            alarm.wait_until(until == Time(40ns) ? kernel_now() + until : until, other);
            done.push_back(kernel_now());
        }
    });
    KernelClock clock([&](Time) { model::tlm::notify_now(other); });
    clock.wake_at(20ns);

    model::tlm::run();
    clock.wake_at(kernel_now() + 5ns);
    model::tlm::run();

    CHECK(done == std::vector<Time>{20ns, 70ns, 110ns, 115ns});
}

namespace {

/// What clocks and threads that ask and notify each other at random do, and when.
std::uint64_t random_life(std::uint32_t seed, bool by_itself) {
    constexpr int actors = 12, steps = 4000;
    std::uint64_t digest = 0;
    int done = 0;
    const auto log = [&](std::size_t who) {
        digest = (digest ^ (static_cast<std::uint64_t>(kernel_now().count()) * 64 + who)) * 0x100000001b3;
        ++done;
    };
    struct Actor {
        std::mt19937 random;
        sc_core::sc_event event;
        model::tlm::Alarm alarm;
        std::unique_ptr<KernelClock> clock;
    };
    std::deque<Actor> all(actors);
    // Times are few, so that many things are due at one.
    const auto some_time = [](Actor& actor) { return Time((1 + actor.random() % 8) * 5000); };
    for (std::size_t who = 0; who < all.size(); ++who) {
        auto& actor = all[who];
        actor.random.seed(seed * 1000 + static_cast<std::uint32_t>(who));
        auto& other = all[(who * 5 + 3) % all.size()];
        actor.clock = std::make_unique<KernelClock>([&, who](Time now) {
            log(who);
            if (actor.random() % 3 == 0)
                model::tlm::notify_now(other.event);
            if (actor.random() % 5 == 0)
                model::tlm::notify_at_once(other.event);
            if (actor.random() % 3 == 0)
                other.clock->wake_at(now + some_time(actor));
            if (done < steps)
                actor.clock->wake_at(now + some_time(actor));
        });
        sc_core::sc_spawn([&, who] {
            while (done < steps) {
                if (who != 0) // two time-outs of the kernel's own that end at one time would have no order
                    actor.alarm.wait_until(kernel_now() + some_time(actor), actor.event);
                else
                    sc_core::wait(model::tlm::to_sc(some_time(actor)), actor.event);
                log(actors + who);
                if (actor.random() % 4 == 0)
                    actor.clock->wake_at(kernel_now());
            }
        });
        actor.clock->wake_at(some_time(actor));
    }
    if (by_itself)
        model::tlm::run();
    else
        sc_core::sc_start();
    return digest;
}

} // namespace

TEST_CASE("the agenda does by itself what it does when the kernel calls it each time", "[module][tlm]") {
    const auto first = Catch::getSeed();
    for (std::uint32_t seed = first; seed < first + 5; ++seed) {
        CAPTURE(seed);
        const auto as_called = harness::in_process_of_its_own([&] { return random_life(seed, false); });
        const auto by_itself = harness::in_process_of_its_own([&] { return random_life(seed, true); });
        REQUIRE(as_called.has_value());
        CHECK(as_called == by_itself);
    }
}

#include "model/port/alarm.h"
#include "testbench/harness/test_ports.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using model::port::Alarm;

TEST_CASE("an alarm rings once, at the earliest time asked for", "[unit][alarm]") {
    TestClock clock;
    Alarm alarm(clock);

    alarm.wake_at(5us);
    alarm.wake_at(3us);
    alarm.wake_at(4us);

    CHECK(clock.next() == 3us);
    clock.set(3us);
    CHECK(alarm.now() == 3us);
    CHECK(alarm.rings(3us));
    CHECK_FALSE(alarm.rings(6us));
    alarm.wake_at(7us);
    CHECK(clock.next() == 7us);
}

TEST_CASE("a wake before its time does not ring an alarm, and asks the clock for that time again", "[unit][alarm]") {
    TestClock clock;
    Alarm alarm(clock);
    clock.wake_at(2us); // another part of the device
    alarm.wake_at(5us);
    clock.set(2us);
    REQUIRE(clock.next() == model::port::never);

    CHECK_FALSE(alarm.rings(2us));

    CHECK(clock.next() == 5us);
    CHECK(alarm.rings(5us));
}

TEST_CASE("an alarm that nobody has set does not ring and asks for nothing", "[unit][alarm]") {
    TestClock clock;
    Alarm alarm(clock);

    CHECK_FALSE(alarm.rings(1us));
    CHECK(clock.next() == model::port::never);
}

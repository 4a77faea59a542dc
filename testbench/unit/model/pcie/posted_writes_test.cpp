#include "model/pcie/posted_writes.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace model::pcie;
using model::port::Time;
using namespace std::chrono_literals;

namespace {
struct Probe final : PostedWrites {
    unsigned wakes = 0;
    std::vector<Time> scheduled;
    std::array<std::byte, 16> memory{};

    void hold(std::size_t offset, unsigned value, Time due) {
        const std::array bytes{static_cast<std::byte>(value)};
        post(memory.data() + offset, bytes, due);
    }
    unsigned at(std::size_t offset) const { return std::to_integer<unsigned>(memory[offset]); }

private:
    void wake() override { ++wakes; }
    void schedule(Time due) override { scheduled.push_back(due); }
};
} // namespace

TEST_CASE("a held write is in memory when it is due, not before", "[unit][pcie][posted]") {
    Probe probe;
    probe.hold(0, 1, 10ns);
    probe.hold(1, 2, 5ns);
    probe.hold(2, 3, 20ns);
    CHECK(probe.scheduled == std::vector<Time>{10ns, 5ns}); // only what is the earliest

    CHECK(probe.apply(4ns) == Time{5ns});
    CHECK(probe.count() == 0);
    CHECK(probe.apply(10ns) == Time{20ns});

    CHECK(probe.at(0) == 1);
    CHECK(probe.at(1) == 2);
    CHECK(probe.at(2) == 0);
    CHECK(probe.count() == 1);
    CHECK(probe.apply(20ns) == model::port::never);
    CHECK(probe.at(2) == 3);
    CHECK_FALSE(probe.has_held());
}

TEST_CASE("held writes of one time land in the order they were made", "[unit][pcie][posted]") {
    Probe probe;
    for (unsigned i = 1; i <= 50; ++i)
        probe.hold(3, i, 7ns);

    probe.apply(7ns);

    CHECK(probe.at(3) == 50);
}

TEST_CASE("settling brings in what overlaps, in order, and leaves the rest", "[unit][pcie][posted]") {
    Probe probe;
    probe.hold(4, 2, 9ns);
    probe.hold(4, 1, 8ns);
    probe.hold(5, 7, 8ns);

    probe.settle(probe.memory.data() + 3, 2);

    CHECK(probe.at(4) == 2);
    CHECK(probe.at(5) == 0);
    CHECK(probe.has_held());
    CHECK(probe.apply(8ns) == model::port::never);
    CHECK(probe.at(5) == 7);
}

TEST_CASE("only a watched memory wakes anybody", "[unit][pcie][posted]") {
    Probe probe;
    probe.note();
    CHECK(probe.wakes == 0);
    CHECK(probe.count() == 1);

    probe.watch(true);
    probe.watch(true);
    probe.watch(false);
    probe.note(); // one is still watching
    probe.hold(0, 1, 1ns);
    probe.apply(1ns);

    CHECK(probe.wakes == 2);
}

TEST_CASE("all held writes have landed at the time of the latest", "[unit][pcie][posted]") {
    Probe probe;
    CHECK(probe.landed_at() == Time{});
    probe.hold(0, 1, 10ns);
    probe.hold(1, 2, 30ns);
    probe.hold(2, 3, 20ns);
    CHECK(probe.landed_at() == Time{30ns});
    probe.apply(10ns);
    CHECK(probe.landed_at() == Time{30ns});
}

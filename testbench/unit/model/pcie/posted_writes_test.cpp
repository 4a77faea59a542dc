#include "model/pcie/posted_writes.h"

#include "testbench/harness/past.h"
#include "testbench/harness/seed.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

using namespace model::pcie;
using model::port::Time;
using namespace std::chrono_literals;

namespace {
struct Probe final : PostedWrites {
    unsigned wakes = 0;
    std::vector<Time> scheduled;
    std::array<std::byte, 16> memory{};
    WriteOrder order;

    void hold(std::size_t offset, unsigned value, Time due) {
        const std::array bytes{static_cast<std::byte>(value)};
        post(memory.data() + offset, bytes, due, order);
    }
    /// What a device reads, beginning at `offset`.
    std::vector<unsigned> read(std::size_t offset, std::size_t length) {
        std::vector<std::byte> bytes(memory.begin() + static_cast<std::ptrdiff_t>(offset),
                                     memory.begin() + static_cast<std::ptrdiff_t>(offset + length));
        show_to_device(memory.data() + offset, bytes);
        std::vector<unsigned> values;
        for (const auto byte : bytes)
            values.push_back(std::to_integer<unsigned>(byte));
        return values;
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
    CHECK_FALSE(probe.is_held(probe.memory.data(), 16));
}

TEST_CASE("held writes of one time land in the order they were made", "[unit][pcie][posted]") {
    Probe probe;
    for (unsigned i = 1; i <= 50; ++i)
        probe.hold(3, i, 7ns);

    probe.apply(7ns);

    CHECK(probe.at(3) == 50);
}

TEST_CASE("a device reads what is held, the newest last, and nobody else sees it sooner for that",
          "[unit][pcie][posted]") {
    Probe probe;
    probe.hold(4, 2, 9ns);
    probe.hold(4, 1, 8ns);
    probe.hold(5, 7, 8ns);
    const std::array several{std::byte{21}, std::byte{22}, std::byte{23}};
    probe.post(probe.memory.data() + 8, several, 9ns, probe.order);

    CHECK(probe.read(3, 3) == std::vector<unsigned>{0, 2, 7});
    CHECK(probe.read(9, 1) == std::vector<unsigned>{22});
    CHECK(probe.read(7, 2) == std::vector<unsigned>{0, 21});
    CHECK(probe.read(10, 3) == std::vector<unsigned>{23, 0, 0});
    CHECK(probe.is_held(probe.memory.data(), 5));
    CHECK_FALSE(probe.is_held(probe.memory.data(), 4));
    CHECK_FALSE(probe.is_held(probe.memory.data() + 11, 5));
    CHECK(probe.at(4) == 0);

    CHECK(probe.apply(8ns) == Time{9ns});
    CHECK(probe.at(4) == 1);
    CHECK(probe.read(4, 1) == std::vector<unsigned>{2});
    probe.apply(9ns);
    CHECK(probe.at(4) == 2);
    CHECK_FALSE(probe.is_held(probe.memory.data(), 16));
}

TEST_CASE("a write is there after all that were issued before it, and waits for none that is issued later",
          "[unit][pcie][posted]") {
    const testbench::NothingIsPast begin;
    WriteOrder order, other;
    CHECK(order.arrive(2ns, 5ns) == Time{5ns});
    CHECK(order.arrive(2ns, 3ns) == Time{5ns}); // of one time the order in which they are booked
    CHECK(order.arrive(4ns, 4ns) == Time{5ns});
    CHECK(order.arrive(1ns, 4ns) == Time{4ns});
    CHECK(other.arrive(9ns, 1ns) == Time{1ns});

    CHECK(order.arrive(100ns, 110ns) == Time{110ns}); // waits for its context
    CHECK(order.arrive(6ns, 8ns) == Time{8ns});
    CHECK(order.arrive(5ns, 6ns) == Time{6ns});
    CHECK(order.arrive(7ns, 7ns) == Time{8ns});
    CHECK(order.arrive(101ns, 102ns) == Time{110ns});

    CHECK(order.all_there(0ns) == Time{});
    CHECK(order.all_there(4ns) == Time{5ns});
    CHECK(order.all_there(6ns) == Time{8ns});
    CHECK(order.all_there(99ns) == Time{8ns});
    CHECK(order.all_there(100ns) == Time{110ns});
}

TEST_CASE("a write that takes long holds up what is issued behind it, though that was booked first",
          "[unit][pcie][posted]") {
    const testbench::NothingIsPast begin;
    WriteOrder order;
    CHECK(order.arrive(10ns, 20ns) == Time{20ns});
    CHECK(order.arrive(30ns, 40ns) == Time{40ns});
    CHECK(order.arrive(5ns, 35ns) == Time{35ns}); // those at 10 have been told when they are there
    CHECK(order.arrive(10ns, 12ns) == Time{35ns});
    CHECK(order.arrive(29ns, 30ns) == Time{35ns});
    CHECK(order.arrive(30ns, 30ns) == Time{40ns});
    CHECK(order.arrive(6ns, 200ns) == Time{200ns});
    CHECK(order.arrive(31ns, 31ns) == Time{200ns});
    CHECK(order.arrive(5ns, 6ns) == Time{35ns});
}

TEST_CASE("what was issued in the past is waited for by all, whatever time they say they were issued at",
          "[unit][pcie][posted]") {
    const testbench::NothingIsPast begin;
    model::time::past_until = 50ns;
    WriteOrder order;
    CHECK(order.arrive(40ns, 60ns) == Time{60ns});
    CHECK(order.arrive(51ns, 70ns) == Time{70ns});
    CHECK(order.arrive(50ns, 51ns) == Time{60ns});
    CHECK(order.arrive(30ns, 52ns) == Time{60ns});
    model::time::past_until = 51ns;
    CHECK(order.arrive(51ns, 52ns) == Time{70ns});
    CHECK(order.all_there(0ns) == Time{70ns});
}

TEST_CASE("a write order has the same answers as one that keeps all its writes", "[unit][pcie][posted][random]") {
    const auto seed = testbench::random_seed();
    INFO("HCA_SEED=" << seed);
    const testbench::NothingIsPast begin;
    std::mt19937_64 random(seed);
    WriteOrder order;
    std::vector<std::pair<Time, Time>> all; // issued, there
    for (int i = 0; i < 3000; ++i) {
        const Time issued{static_cast<std::int64_t>(random() % 1000)};
        const auto at = issued + Time{static_cast<std::int64_t>(random() % 200)};
        Time before{};
        for (const auto& [other, there] : all)
            if (other <= issued)
                before = std::max(before, there);
        REQUIRE(order.all_there(issued) == before);
        const auto there = order.arrive(issued, at);
        REQUIRE(there == std::max(before, at));
        all.emplace_back(issued, there);
        if (i % 500 == 499)
            all.clear(), order = {};
    }
}

TEST_CASE("far more writes ahead than any card has are in order, the earliest at the latest of their times",
          "[unit][pcie][posted]") {
    const testbench::NothingIsPast begin;
    WriteOrder order;
    for (int i = 1; i <= 5000; ++i)
        REQUIRE(order.arrive(Time{i * 10}, Time{i * 10 + 5}) == Time{i * 10 + 5});
    for (int i = 4100; i <= 5000; ++i)
        REQUIRE(order.arrive(Time{i * 10}, Time{i * 10}) == Time{i * 10 + 5});
    const auto forgotten = order.arrive(Time{10}, Time{11});
    CHECK(forgotten > Time{3900 * 10});
    CHECK(forgotten < Time{4100 * 10});
}

TEST_CASE("a write order knows what of it is held", "[unit][pcie][posted]") {
    Probe probe;
    WriteOrder other;
    probe.hold(0, 1, 5ns);
    probe.hold(1, 1, 7ns);
    CHECK(probe.order.held == 2);
    CHECK(other.held == 0);
    probe.apply(6ns);
    CHECK(probe.order.held == 1);
    probe.apply(7ns);
    CHECK(probe.order.held == 0);
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

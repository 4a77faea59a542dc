#include "model/pcie/posted_writes.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
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

TEST_CASE("a write order never goes back, and knows what of it is held", "[unit][pcie][posted]") {
    Probe probe;
    WriteOrder other;
    CHECK(probe.order.arrive(5ns) == Time{5ns});
    CHECK(probe.order.arrive(3ns) == Time{5ns});
    CHECK(other.arrive(1ns) == Time{1ns});

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

// When calls are made again: software's clock may be ahead of the device's, so that what the device does by itself at
// an earlier time comes behind the call.
#include "platform/record/functional_replay.h"

#include "testbench/unit/platform/record/replay_bench.h"

#include "model/port/memory_dma.h"
#include "testbench/harness/test_ports.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using namespace replay_bench;
namespace pcie = model::pcie;

namespace {

const DeviceInterfaces no_port{.functions = {0}, .ports = {}};

/// Writes a byte every `period`, until a store says that it is enough.
struct Ticker final : pcie::Device {
    pcie::DevicePorts ports;
    Time period;
    std::uint8_t count = 0;
    bool is_enough = false;
    Ticker(const pcie::DevicePorts& with, Time every) : ports(with), period(every) { ports.clock.wake_at(period); }

    void wake(Time now) override {
        if (is_enough)
            return;
        const std::array byte{static_cast<std::byte>(++count)};
        ports.dma.write(abi::BusAddress{0x1000u + count}, byte, now);
        ports.clock.wake_at(now + period);
    }
    void bar_write(unsigned, std::uint64_t, std::span<const std::byte>, Time) override { is_enough = true; }
    port::DmaResult bar_read(unsigned, std::uint64_t, std::span<std::byte> into, Time at) override {
        std::ranges::fill(into, static_cast<std::byte>(count));
        return {port::DmaStatus::ok, at};
    }
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(Time) override {}
    void page_answered(std::uint16_t, std::uint8_t, Time at) override {
        const auto time = at.count();
        ports.dma.write(abi::BusAddress{0x2000}, std::as_bytes(std::span(&time, 1)), at);
    }
};

/// Three bytes; then the store comes, at this time, before the device is woken for the fourth.
Bytes stopped_at(Time at) {
    port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    Recording recording;
    const RecordedPorts ports(recording.boundary, {memory, clock, interrupts});
    Ticker ticker(ports.ports(), 10ns);
    RecordedDevice device(recording.boundary, ticker);
    const auto wake = [&] {
        clock.set(clock.next());
        device.wake(clock.now());
    };
    for (int i = 0; i < 3; ++i)
        wake();
    device.bar_write(0, 0, std::array{std::byte{1}}, at);
    wake();
    Bytes word(1);
    device.bar_read(0, 0, word, at + 10ns);
    CHECK(word[0] == std::byte{3});
    return recording.bytes();
}

Replay::Result functional(const Bytes& trace, Time period) {
    MemorySource source(trace);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    FunctionalReplay replay(reader, no_port);
    Ticker ticker(replay.ports(), period);
    return replay.run(ticker);
}

} // namespace

TEST_CASE("a call of software whose clock is ahead is made before what the device does later", "[unit][record]") {
    CHECK(why(functional(stopped_at(35ns), 10ns)) == "");
    CHECK(why(functional(stopped_at(1us), 10ns)) == "");
}

TEST_CASE("a call waits for what the device did before it, however slow that has become", "[unit][record]") {
    CHECK(why(functional(stopped_at(1us), 300ns)) == "");
}

TEST_CASE("a call does not wait for more than the device did before it, however fast that has become",
          "[unit][record]") {
    CHECK(why(functional(stopped_at(1us), 9ns)) == "");
}

TEST_CASE("a call of software whose clock is ahead makes no later call of others later", "[unit][record]") {
    port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    Recording recording;
    const RecordedPorts ports(recording.boundary, {memory, clock, interrupts});
    Ticker ticker(ports.ports(), 1ms);
    RecordedDevice device(recording.boundary, ticker);
    device.bar_write(0, 0, std::array{std::byte{1}}, 50us);
    device.page_answered(0, 0, 10us);

    CHECK(why(functional(recording.bytes(), 1ms)) == "");
}

// --- memory that software changes unseen ---

namespace {

constexpr std::uint64_t shared = 0x2000, own = 0x3000;

/// Writes to memory at the first store; at a later one it copies what stands there.
struct Copier final : pcie::Device {
    pcie::DevicePorts ports;
    int copies_at, stores = 0;
    Copier(const pcie::DevicePorts& with, int at_store) : ports(with), copies_at(at_store) {}

    void bar_write(unsigned, std::uint64_t, std::span<const std::byte>, Time at) override {
        std::array byte{std::byte{1}};
        if (++stores == 1)
            ports.dma.write(abi::BusAddress{shared}, byte, at);
        if (stores != copies_at)
            return;
        ports.dma.read(abi::BusAddress{shared}, byte, at);
        ports.dma.write(abi::BusAddress{own}, byte, at);
    }
    port::DmaResult bar_read(unsigned, std::uint64_t, std::span<std::byte>, Time at) override {
        return {port::DmaStatus::ok, at};
    }
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(Time) override {}
};

} // namespace

TEST_CASE("a read that comes sooner than it did finds what software had written for it", "[unit][record]") {
    port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    Recording recording;
    const RecordedPorts ports(recording.boundary, {memory, clock, interrupts});
    Copier copier(ports.ports(), 3);
    RecordedDevice device(recording.boundary, copier);
    const std::array store{std::byte{1}};
    device.bar_write(0, 0, store, 10ns);
    memory.poke(shared, Bytes{std::byte{2}});
    device.bar_write(0, 0, store, 20ns);
    device.bar_write(0, 0, store, 30ns);
    const auto trace = recording.bytes();
    MemorySource source(trace);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    FunctionalReplay replay(reader, no_port);
    Copier early(replay.ports(), 2);

    CHECK(why(replay.run(early)) == "");
}

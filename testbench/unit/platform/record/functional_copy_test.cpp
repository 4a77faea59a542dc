// A device that is no HCA plays functionally: what it writes and its interrupts, whatever pieces and time it takes.
#include "platform/record/functional_replay.h"

#include "testbench/unit/platform/record/replay_bench.h"

#include "model/copy/copy_engine.h"
#include "model/port/memory_dma.h"
#include "testbench/harness/test_ports.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace harness;
using namespace replay_bench;
using namespace model;
using Catch::Matchers::ContainsSubstring;
using Kind = Divergence::Kind;

namespace {

using CopyConfig = copy::CopyEngineConfig;
constexpr CopyConfig usual{.start_latency = 1us, .piece_bytes = 4096};
constexpr std::uint64_t source = 0x10003, target = 0x50001;
constexpr std::uint32_t length = 9001;
const DeviceInterfaces no_port{.functions = {0}, .ports = {}};

/// Two copies; before the second one, software changes what is to be copied.
Bytes copies() {
    port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    Recording recording;
    const RecordedPorts ports(recording.boundary, {memory, clock, interrupts});
    copy::CopyEngine engine(usual, ports.ports());
    RecordedDevice device(recording.boundary, engine);
    memory.set_latency(100ns);
    std::mt19937_64 random(1);
    for (int i = 0; i < 2; ++i) {
        memory.poke(source, trace_bench::random_bytes(length, random));
        abi::Block<copy::Registers> block;
        block.view().set<"source">(source).set<"destination">(target).set<"length">(length).set<"doorbell">(1);
        for (const auto& [offset, size] : {std::pair<std::size_t, std::size_t>{0, 8}, {8, 8}, {16, 4}, {20, 4}})
            device.bar_write(0, offset, std::span(block.bytes).subspan(offset, size), clock.now());
        while (clock.next() != port::never) {
            clock.set(clock.next());
            device.wake(clock.now());
        }
        device.bar_read(0, 0, block.bytes, clock.now());
    }
    CHECK(interrupts.vectors.size() == 2);
    return recording.bytes();
}

struct Mistake {
    int write = -1;     ///< of this number: one byte is another
    int interrupt = -1; ///< of this number comes so often
    unsigned times = 1;
    bool is_before_last = false; ///< interrupts come before the last write of their copy
};
struct Mistaken final : pcie::Device, port::Dma, port::Interrupts {
    pcie::DevicePorts outside;
    Mistake mistake;
    copy::CopyEngine engine;
    int writes = 0, interrupts = 0;
    std::function<void()> held;
    Mistaken(const CopyConfig& config, const pcie::DevicePorts& ports, Mistake what)
        : outside(ports), mistake(what), engine(config, {*this, ports.clock, *this}) {}

    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, Time at, port::Purpose purpose) override {
        return outside.dma.read(address, into, at, purpose);
    }
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, Time at,
                          port::Purpose purpose) override {
        Bytes bytes(from.begin(), from.end());
        if (writes++ == mistake.write)
            bytes[bytes.size() / 2] ^= std::byte{1};
        if (mistake.is_before_last && address.value + from.size() == target + length) {
            held = [=, this] { outside.dma.write(address, bytes, at, purpose); };
            return {port::DmaStatus::ok, at};
        }
        return outside.dma.write(address, bytes, at, purpose);
    }
    port::Loan lend(abi::BusAddress address, std::size_t bytes, Time at, port::Purpose purpose) override {
        return outside.dma.lend(address, bytes, at, purpose);
    }
    void raise(std::uint16_t vector, Time at) override {
        for (auto left = interrupts++ == mistake.interrupt ? mistake.times : 1; left != 0; --left)
            outside.interrupts.raise(vector, at);
        if (held)
            std::exchange(held, nullptr)();
    }
    port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, Time at) override {
        return engine.bar_read(bar, offset, into, at);
    }
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, Time at) override {
        engine.bar_write(bar, offset, from, at);
    }
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(Time at) override { engine.reset(at); }
    void wake(Time now) override { engine.wake(now); }
};

Replay::Result functional(const CopyConfig& config, Mistake mistake = {}) {
    const auto trace = copies();
    MemorySource source_of_trace(trace);
    codec::Reader reader(source_of_trace);
    REQUIRE(reader.open());
    FunctionalReplay replay(reader, no_port);
    Mistaken device(config, replay.ports(), mistake);
    return replay.run(device);
}

} // namespace

TEST_CASE("a copy engine of other pieces and another speed does the same", "[unit][record]") {
    CHECK(why(functional(usual)) == "");
    CHECK(why(functional({.start_latency = 1us, .piece_bytes = 256})) == "");
    CHECK(why(functional({.start_latency = 5us, .piece_bytes = 65536})) == "");
    CHECK(why(functional({.start_latency = 0ns, .piece_bytes = 512})) == "");
}

TEST_CASE("a copied byte that is another is named, in whatever pieces", "[unit][record]") {
    const auto result = functional({.start_latency = 1us, .piece_bytes = 256}, {.write = 20});

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::field);
    CHECK_THAT(result.divergence->actual, ContainsSubstring("instead of"));
}

TEST_CASE("interrupts of a copy are counted, and come behind its bytes", "[unit][record]") {
    const auto dropped = functional(usual, {.interrupt = 0, .times = 0});
    const auto twice = functional(usual, {.interrupt = 0, .times = 2});
    const auto early = functional(usual, {.is_before_last = true});

    REQUIRE(dropped.divergence);
    CHECK(dropped.divergence->kind == Kind::missing);
    CHECK_THAT(dropped.divergence->expected, ContainsSubstring("an interrupt"));
    REQUIRE(twice.divergence);
    CHECK(twice.divergence->kind == Kind::extra);
    CHECK_THAT(twice.divergence->actual, ContainsSubstring("an interrupt"));
    REQUIRE(early.divergence);
    CHECK(early.divergence->kind == Kind::order);
    CHECK_THAT(early.divergence->expected, ContainsSubstring("a write"));
}

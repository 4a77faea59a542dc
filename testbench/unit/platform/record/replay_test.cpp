// A device is recorded at its ports, and played again alone: the same, until something about it is changed.
#include "testbench/unit/platform/record/replay_bench.h"

#include "model/copy/copy_engine.h"
#include "model/port/memory_dma.h"
#include "testbench/harness/test_ports.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace harness;
using namespace replay_bench;
using namespace model;
using Catch::Matchers::ContainsSubstring;
using trace_bench::Bytes;
namespace codec = traces::codec;
using Kind = Divergence::Kind;

namespace {

// --- a copy engine, driven as software does ---

using CopyConfig = copy::CopyEngineConfig;

struct CopySession {
    port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    Recording recording;
    RecordedPorts ports{recording.boundary, {memory, clock, interrupts}};
    copy::CopyEngine engine;
    RecordedDevice device{recording.boundary, engine};

    explicit CopySession(const CopyConfig& config) : engine(config, ports.ports()) {
        memory.set_latency(100ns);
        std::mt19937_64 random(1);
        memory.poke(0x10000, trace_bench::random_bytes(20000, random));
    }
    template <abi::Name Row, class T> void set(T value) {
        abi::Block<copy::Registers> block;
        block.view().set<Row>(value);
        using Field = copy::Registers::field<Row>;
        device.bar_write(0, Field::offset, std::span(block.bytes).subspan(Field::offset, Field::bytes), clock.now());
    }
    copy::State state() {
        abi::Block<copy::Registers> block;
        device.bar_read(0, 0, block.bytes, clock.now());
        return block.view().get<"state">();
    }
    void copy(std::uint64_t from, std::uint64_t to, std::uint32_t length) {
        set<"source">(from), set<"destination">(to), set<"length">(length), set<"doorbell">(1u);
        state();
        while (clock.next() != port::never) {
            clock.set(clock.next());
            device.wake(clock.now());
        }
        state();
    }
};

constexpr CopyConfig usual{.start_latency = 1us, .piece_bytes = 4096};

Bytes copies(const CopyConfig& config = usual) {
    CopySession session(config);
    session.copy(0x10000, 0x50000, 9001);
    session.copy(0x10003, 0x60001, 70);
    session.memory.fail(0x11000, 0x12000, port::DmaStatus::unsupported_request);
    session.copy(0x10000, 0x70000, 9000); // ends early
    session.device.reset(session.clock.now());
    session.memory.clear_faults();
    session.copy(0x10000, 0x50000, 100);
    CHECK(session.interrupts.vectors.size() == 4);
    return session.recording.bytes();
}

auto copy_engine(const CopyConfig& config) {
    return [config](const pcie::DevicePorts& ports) { return std::make_unique<copy::CopyEngine>(config, ports); };
}

} // namespace

TEST_CASE("a recorded device plays as it was", "[unit][record]") {
    const auto trace = copies();
    const auto mode = GENERATE(Replay::Mode::strict, Replay::Mode::untimed);

    const auto result = play(trace, copy_engine(usual), mode);

    CHECK(why(result) == "");
    CHECK(result.is_same());
    CHECK(result.calls >= 25);
}

TEST_CASE("a device that is recorded does what it does without", "[unit][record]") {
    CopySession session(usual);
    port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    copy::CopyEngine plain(usual, {memory, clock, interrupts});
    memory.set_latency(100ns);
    std::mt19937_64 random(1);
    memory.poke(0x10000, trace_bench::random_bytes(20000, random));
    abi::Block<copy::Registers> block;
    block.view().set<"source">(0x10000).set<"destination">(0x50001).set<"length">(9001).set<"doorbell">(1);

    session.copy(0x10000, 0x50001, 9001);
    for (const auto& [offset, size] : {std::pair{0, 8}, {8, 8}, {16, 4}, {20, 4}})
        plain.bar_write(
            0, static_cast<std::uint64_t>(offset),
            std::span(block.bytes).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)), {});
    while (clock.next() != port::never) {
        clock.set(clock.next());
        plain.wake(clock.now());
    }

    CHECK(session.memory.peek(0x50000, 9100) == memory.peek(0x50000, 9100));
    CHECK(session.clock.now() == clock.now());
    CHECK(session.interrupts.vectors == interrupts.vectors);
}

TEST_CASE("a card gets a recorded device in the place of its device", "[unit][record]") {
    port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    Recording recording;
    auto device = RecordedDevice::make(recording.boundary, {memory, clock, interrupts}, copy_engine(usual));
    CHECK(dynamic_cast<copy::CopyEngine*>(&device->device()) != nullptr);
    const std::array<std::byte, 4> length{std::byte{8}}, any{};

    device->bar_write(0, copy::Registers::field<"length">::offset, length, {});
    device->bar_write(0, copy::Registers::field<"doorbell">::offset, any, {});
    CHECK_FALSE(device->is_quiet());
    clock.set(clock.next());
    device->wake(clock.now());
    device.reset();

    const auto result = play(recording.bytes(), copy_engine(usual));
    CHECK(why(result) == "");
    CHECK(result.calls == 3);
}

TEST_CASE("the same session makes the same trace, byte for byte", "[unit][record]") { CHECK(copies() == copies()); }

TEST_CASE("a device that takes another time diverges in time alone", "[unit][record]") {
    const auto trace = copies();
    auto slower = usual;
    slower.start_latency = 2us;

    const auto strict = play(trace, copy_engine(slower)),
               untimed = play(trace, copy_engine(slower), Replay::Mode::untimed);

    REQUIRE(strict.divergence);
    CHECK(strict.divergence->kind == Kind::time);
    CHECK_THAT(why(strict), ContainsSubstring("request to be woken"));
    CHECK(why(untimed) == "");
}

TEST_CASE("a device that asks in other pieces diverges at the first read", "[unit][record]") {
    const auto trace = copies();
    auto finer = usual;
    finer.piece_bytes = 256;

    const auto result = play(trace, copy_engine(finer));

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::field);
    CHECK_THAT(result.divergence->expected, ContainsSubstring("a read of 4096 bytes at 0x10000"));
    CHECK_THAT(result.divergence->actual, ContainsSubstring("a read of 256 bytes at 0x10000"));
}

namespace {

/// What a planted fault does to what the device sends.
struct Fault {
    int write = -1;        ///< of this number: one byte is another
    int interrupt = -1;    ///< of this number is left out
    bool is_twice = false; ///< it comes twice instead
};

struct FaultyDma final : port::Dma {
    port::Dma& inner;
    Fault fault;
    int count = 0;
    FaultyDma(port::Dma& dma, Fault what) : inner(dma), fault(what) {}
    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, port::Time at,
                         port::Purpose purpose) override {
        return inner.read(address, into, at, purpose);
    }
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, port::Time at,
                          port::Purpose purpose) override {
        Bytes bytes(from.begin(), from.end());
        if (count++ == fault.write)
            bytes[bytes.size() / 2] ^= std::byte{1};
        return inner.write(address, bytes, at, purpose);
    }
    port::Loan lend(abi::BusAddress address, std::size_t length, port::Time at, port::Purpose purpose) override {
        return inner.lend(address, length, at, purpose);
    }
};
struct FaultyInterrupts final : port::Interrupts {
    port::Interrupts& inner;
    Fault fault;
    int count = 0;
    FaultyInterrupts(port::Interrupts& interrupts, Fault what) : inner(interrupts), fault(what) {}
    void raise(std::uint16_t vector, port::Time at) override {
        const bool is_it = count++ == fault.interrupt;
        if (!is_it || fault.is_twice)
            inner.raise(vector, at);
        if (is_it && fault.is_twice)
            inner.raise(vector, at);
    }
};
/// A copy engine with a mistake on its way out.
struct Faulty final : pcie::Device {
    FaultyDma dma;
    FaultyInterrupts interrupts;
    copy::CopyEngine engine;
    Faulty(const pcie::DevicePorts& ports, Fault fault)
        : dma(ports.dma, fault), interrupts(ports.interrupts, fault), engine(usual, {dma, ports.clock, interrupts}) {}
    port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, port::Time at) override {
        return engine.bar_read(bar, offset, into, at);
    }
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, port::Time at) override {
        engine.bar_write(bar, offset, from, at);
    }
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(port::Time at) override { engine.reset(at); }
    void wake(port::Time now) override { engine.wake(now); }
};
Replay::Result play_faulty(Fault fault) {
    return play(copies(), [&](const pcie::DevicePorts& ports) { return std::make_unique<Faulty>(ports, fault); });
}

} // namespace

TEST_CASE("a byte that is another is a field that diverges, at its write", "[unit][record]") {
    const auto result = play_faulty({.write = 2});

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::field);
    CHECK_THAT(result.divergence->actual, ContainsSubstring("a write of 809 bytes to 0x52000"));
    CHECK(result.divergence->record != 0);
}

TEST_CASE("an interrupt that does not come is missing", "[unit][record]") {
    const auto result = play_faulty({.interrupt = 1});

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::missing);
    CHECK_THAT(result.divergence->expected, ContainsSubstring("an interrupt"));
}

TEST_CASE("an interrupt that comes twice is extra", "[unit][record]") {
    const auto result = play_faulty({.interrupt = 0, .is_twice = true});

    REQUIRE(result.divergence);
    CHECK(result.divergence->kind == Kind::extra);
    CHECK_THAT(result.divergence->actual, ContainsSubstring("an interrupt"));
}

TEST_CASE("a trace that is cut plays up to its last record", "[unit][record]") {
    auto trace = copies();
    trace.resize(trace.size() - 20);

    const auto result = play(trace, copy_engine(usual));

    CHECK_FALSE(result.divergence);
    REQUIRE(result.fault);
    CHECK(result.fault->kind == codec::FaultKind::truncated);
}

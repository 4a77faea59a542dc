// A device is recorded at its ports, and played again alone: the same, until something about it is changed.
#include "platform/record/replay.h"

#include "model/copy/copy_engine.h"
#include "model/port/memory_dma.h"
#include "testbench/harness/test_ports.h"
#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <deque>

using namespace harness;
using namespace platform::record;
using namespace model;
using Catch::Matchers::ContainsSubstring;
using trace_bench::Bytes;
using trace_bench::MemoryDestination;
using trace_bench::MemorySource;
namespace codec = traces::codec;
using Kind = Divergence::Kind;

namespace {

const DeviceInterfaces one_port{.functions = {0}, .ports = {{1, port::Encapsulation::roce_v2_ipv4}}};

struct Recording {
    MemoryDestination destination;
    codec::Writer writer{
        destination,
        {.identity = {.revision = "test"},
         .configuration = {},
         .names = {},
         .interfaces = {{codec::InterfaceKind::pcie, "device"}, {codec::InterfaceKind::ethernet, "device.port"}}},
        {}};
    Journal journal{writer};
    Boundary boundary{journal, one_port};
    Bytes bytes() {
        REQUIRE(writer.close());
        return destination.bytes;
    }
};

/// Plays `trace` on what `make` makes of the ports.
template <class Make> Replay::Result play(const Bytes& trace, Make&& make, Replay::Mode mode = Replay::Mode::strict) {
    MemorySource source(trace);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    Replay replay(reader, one_port, mode);
    auto device = make(replay.ports());
    return replay.run(*device);
}
std::string why(const Replay::Result& result) {
    return result.divergence ? result.divergence->text() : result.fault ? result.fault->text() : std::string();
}

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
    int write = -1;          ///< of this number: one byte is another
    int interrupt = -1;      ///< of this number is left out
    bool is_twice = false;   ///< it comes twice instead
    bool is_swapped = false; ///< the interrupt comes before the last write
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

// --- a device with a network port ---

namespace {

/// Sends each frame back when its wire takes it, changed by what memory says, and counts them in a register space.
struct Echo final : pcie::Device, port::Receiver, port::RegisterSpaces {
    pcie::DevicePorts ports;
    std::deque<Bytes> waiting;
    std::uint32_t count = 0;
    bool has_news = false;
    explicit Echo(const pcie::DevicePorts& with) : ports(with) { ports.wires[0]->set_on(true, ports.clock.now()); }

    port::DmaResult bar_read(unsigned, std::uint64_t, std::span<std::byte> into, port::Time at) override {
        std::ranges::fill(into, static_cast<std::byte>(ports.wires[0]->sent().packets));
        return {count > 2 ? port::DmaStatus::completer_abort : port::DmaStatus::ok, at + 5ns};
    }
    void bar_write(unsigned, std::uint64_t, std::span<const std::byte>, port::Time) override {}
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(port::Time) override { waiting.clear(); }
    void page_answered(std::uint16_t group, std::uint8_t code, port::Time at) override {
        const std::array bytes{static_cast<std::byte>(group), static_cast<std::byte>(code)};
        ports.dma.write(abi::BusAddress{1}, bytes, at);
    }
    port::RegisterSpaces* spaces() override { return this; }
    port::Receiver* receiver(unsigned number) override { return number == 0 ? this : nullptr; }
    bool settle() override {
        if (has_news)
            ports.interrupts.raise(3, ports.clock.now());
        return std::exchange(has_news, false);
    }

    void receive(port::Packet& packet, port::Time at) override {
        Bytes frame(packet.payload.size());
        packet.payload.copy_to(frame);
        ports.dma.read(abi::BusAddress{0x1001}, std::span(frame).first(7), at);
        waiting.push_back(std::move(frame));
        ++count;
        has_news = true;
    }
    void received_all(port::Time at) override { ready(at); }
    void link_changed(bool is_up, port::Time at) override { ports.wires[0]->set_on(is_up, at); }
    bool can_receive(port::Time) override { return count != 2; }
    void ready(port::Time at) override {
        for (; !waiting.empty() && ports.wires[0]->can_send(at); waiting.pop_front()) {
            auto& packet = ports.wires[0]->next();
            packet.become_plain_frame();
            packet.payload.append_copy(waiting.front());
            at = ports.wires[0]->send(at);
        }
    }

    std::uint32_t size(Space) const override { return 8; }
    std::optional<std::uint32_t> read(Space, std::uint32_t address, port::Time) override {
        return address == 4 ? std::optional(count) : std::nullopt;
    }
    bool write(Space, std::uint32_t address, std::uint32_t value) override {
        count = value;
        return address == 4;
    }
    std::optional<std::uint32_t> next(Space, std::uint32_t) const override { return std::nullopt; }
};

struct NarrowWire final : port::Wire {
    port::Packet packet;
    port::Traffic traffic;
    bool is_free = true;
    bool can_send(port::Time) override { return is_free; }
    port::Packet& next() override {
        packet.clear();
        return packet;
    }
    port::Time send(port::Time at) override {
        is_free = false;
        ++traffic.packets;
        traffic.bytes += packet.payload.size();
        return at + 80ns;
    }
    bool set_on(bool, port::Time) override { return false; }
    port::Traffic sent() const override { return traffic; }
};

Bytes echoes() {
    port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    NarrowWire wire;
    std::array<port::Wire*, 1> wires{&wire};
    Recording recording;
    const RecordedPorts ports(recording.boundary, {memory, clock, interrupts, wires});
    Echo echo(ports.ports());
    RecordedDevice device(recording.boundary, echo);
    std::mt19937_64 random(1);
    memory.poke(0x1000, trace_bench::random_bytes(64, random));
    auto* ear = device.receiver(0);
    REQUIRE(ear != nullptr);
    CHECK(device.receiver(1) == nullptr);
    for (int i = 0; i < 4; ++i) {
        clock.set(Time{1us} * (i + 1));
        static_cast<void>(ear->can_receive(clock.now()));
        port::Packet packet;
        packet.become_plain_frame();
        packet.payload.append_copy(trace_bench::random_bytes(60, random));
        ear->receive(packet, clock.now());
        ear->received_all(clock.now() + 1ns);
        while (device.settle()) {
        }
        wire.is_free = true;
        ear->ready(clock.now() + 100ns);
        device.page_answered(static_cast<std::uint16_t>(i), 1, clock.now());
    }
    ear->link_changed(true, clock.now());
    Bytes word(4);
    device.bar_read(2, 0x10, word, clock.now());
    auto* spaces = device.spaces();
    REQUIRE(spaces != nullptr);
    CHECK(spaces->read({}, 4, clock.now()) == 4u);
    CHECK_FALSE(spaces->read({}, 8, clock.now()));
    CHECK(spaces->write({}, 4, 1));
    device.bar_read(2, 0x11, std::span(word).first(1), clock.now());
    CHECK(wire.traffic.packets == 4);
    return recording.bytes();
}

} // namespace

TEST_CASE("a device with a network port plays as it was", "[unit][record]") {
    const auto trace = echoes();

    const auto result = play(trace, [](const pcie::DevicePorts& ports) { return std::make_unique<Echo>(ports); });

    CHECK(why(result) == "");
    CHECK(result.calls == 4 * 5 + 1 + 5 + 1); // and once it takes no packet
}

TEST_CASE("each record of a call leads back to the call", "[unit][record]") {
    const auto story = trace_bench::read_all(echoes());

    REQUIRE(story.why() == "");
    std::size_t outbound = 0;
    for (std::size_t i = 2; i < story.records.size(); ++i) { // two from before the first call
        const auto& record = story.records[i];
        if (record.mark.direction != codec::Direction::outbound)
            continue;
        ++outbound;
        REQUIRE(record.mark.cause != 0);
        const auto& call = story.records[record.mark.cause - 1];
        CHECK(call.mark.direction == codec::Direction::inbound);
        CHECK(call.mark.gate == record.mark.gate);
    }
    CHECK(outbound > 15);
}

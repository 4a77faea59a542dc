// A device with a network port is recorded and played again: frames, room on the wire, links, register spaces.
#include "testbench/unit/platform/record/replay_bench.h"

#include "model/port/memory_dma.h"
#include "testbench/harness/test_ports.h"

#include <catch2/catch_test_macros.hpp>

#include <deque>

using namespace harness;
using namespace replay_bench;
namespace pcie = model::pcie;

namespace {

/// Sends each frame back when its wire takes it, changed by what memory says, and counts them in a register space.
struct Echo : pcie::Device, port::Receiver, port::RegisterSpaces {
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

/// Writes to memory when it was stored to.
struct Stamp final : Echo {
    using Echo::Echo;
    void bar_write(unsigned, std::uint64_t, std::span<const std::byte>, port::Time at) override {
        const auto time = at.count();
        ports.dma.write(abi::BusAddress{0x2000}, std::as_bytes(std::span(&time, 1)), at);
    }
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

TEST_CASE("a store of a processor that is ahead makes no later store later", "[unit][record]") {
    port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    NarrowWire wire;
    std::array<port::Wire*, 1> wires{&wire};
    Recording recording;
    const RecordedPorts ports(recording.boundary, {memory, clock, interrupts, wires});
    Stamp stamp(ports.ports());
    RecordedDevice device(recording.boundary, stamp);
    const Bytes word(4);
    for (const auto ahead : {50us, 10us, 20us})
        device.bar_write(2, 0x10, word, clock.now() + ahead);
    const auto trace = recording.bytes();

    for (const auto mode : {Replay::Mode::strict, Replay::Mode::untimed})
        CHECK(
            why(play(trace, [](const pcie::DevicePorts& with) { return std::make_unique<Stamp>(with); }, mode)) == "");
}

namespace {

/// Keeps what was stored last, and gives it back.
struct Memory final : Echo {
    Bytes bytes;
    using Echo::Echo;
    void bar_write(unsigned, std::uint64_t, std::span<const std::byte> from, port::Time) override {
        bytes.assign(from.begin(), from.end());
    }
    port::DmaResult bar_read(unsigned, std::uint64_t, std::span<std::byte> into, port::Time at) override {
        std::ranges::copy(std::span(bytes).first(into.size()), into.begin());
        return {port::DmaStatus::ok, at};
    }
};

/// A recording of a store of so many bytes, and of the load of them.
Bytes stored(std::size_t length) {
    port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    NarrowWire wire;
    std::array<port::Wire*, 1> wires{&wire};
    Recording recording;
    const RecordedPorts ports(recording.boundary, {memory, clock, interrupts, wires});
    Memory kept(ports.ports());
    RecordedDevice device(recording.boundary, kept);
    Bytes bytes(length, std::byte{0x5a});
    device.bar_write(2, 0x1000, bytes, clock.now());
    device.bar_read(2, 0x1000, bytes, clock.now());
    return recording.bytes();
}

/// A recording of one signal.
Bytes told_at(codec::Signal signal, std::uint64_t value, std::int64_t time_ps) {
    Recording recording;
    abi::Block<codec::SignalRecord> record;
    record.view().set<"code">(static_cast<std::uint16_t>(signal)).set<"value">(value);
    recording.writer.write(0, time_ps, {.kind = codec::RecordKind::signal, .direction = codec::Direction::inbound},
                           record.bytes);
    return recording.bytes();
}

} // namespace

TEST_CASE("a recording with a time that leaves no room for a later one is refused", "[unit][record]") {
    const auto echo = [](const pcie::DevicePorts& ports) { return std::make_unique<Echo>(ports); };
    constexpr std::int64_t last = std::int64_t{1} << 62;
    using enum codec::Signal;
    for (const auto mode : {Replay::Mode::strict, Replay::Mode::untimed}) {
        for (const auto signal : {time, written, sent, no_answer, wake_at}) {
            const auto result = play(told_at(signal, last + 1, 0), echo, mode);
            INFO("signal " << static_cast<int>(signal));
            REQUIRE(result.fault);
            CHECK(result.fault->reason == "record 1: a time beyond all times");
        }
        CHECK(why(play(told_at(wake, 0, last + 1), echo, mode)).contains("beyond all times"));
        CHECK_FALSE(why(play(told_at(wake, 0, last), echo, mode)).contains("beyond all times"));
    }
}

TEST_CASE("software stores and loads a whole file at once", "[unit][record]") {
    const auto trace = stored(std::size_t{40} << 20);
    const auto make = [](const pcie::DevicePorts& ports) { return std::make_unique<Memory>(ports); };
    CHECK(why(play(trace, make)) == "");
    CHECK(why(play(trace, make, Replay::Mode::untimed)) == "");
}

TEST_CASE("an access of more bytes than may be held is refused at its record", "[unit][record]") {
    const auto trace = stored(10'000);
    const auto last_of = [&](std::size_t most_access) {
        MemorySource source(trace);
        codec::Reader reader(source);
        REQUIRE(reader.open());
        Steps steps(reader, one_port, most_access);
        while (steps.peek() != nullptr)
            steps.take();
        return steps.fault();
    };
    CHECK_FALSE(last_of(10'000));
    const auto fault = last_of(9'999);
    REQUIRE(fault);
    CHECK(fault->kind == codec::FaultKind::excessive);
    CHECK(fault->reason.ends_with("an access of more than 9999 bytes"));
}

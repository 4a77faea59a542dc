#include "model/copy/copy_engine.h"

#include "model/port/memory_dma.h"
#include "testbench/harness/test_ports.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

using namespace harness;
using namespace model::copy;
using abi::BusAddress;
using model::port::DmaStatus;

namespace {

struct Bench {
    model::port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    CopyEngine engine;
    std::array<std::byte, 10000> pattern{};

    explicit Bench(CopyEngineConfig config = {.start_latency = 1us, .piece_bytes = 4096})
        : engine(config, {memory, clock, interrupts}) {
        for (std::size_t i = 0; i < pattern.size(); ++i)
            pattern[i] = static_cast<std::byte>(i * 7 + i / 256);
        memory.write(BusAddress{0x10000}, pattern, {});
        memory.clear_log();
    }
    template <abi::Name Row, class T> void set(T value) {
        abi::Block<Registers> block;
        block.view().set<Row>(value);
        using Field = Registers::field<Row>;
        engine.bar_write(0, Field::offset, std::span(block.bytes).subspan(Field::offset, Field::bytes), clock.now());
    }
    template <abi::Name Row> auto get() {
        abi::Block<Registers> block;
        engine.bar_read(0, 0, block.bytes, clock.now());
        return block.view().get<Row>();
    }
    void ask(std::uint64_t from, std::uint64_t to, std::uint32_t length) {
        set<"source">(from), set<"destination">(to), set<"length">(length), set<"doorbell">(1u);
    }
    /// Everything that is due, until nothing is.
    void run() {
        while (clock.next() != model::port::never) {
            clock.set(clock.next());
            engine.wake(clock.now());
        }
    }
    bool holds(std::uint64_t at, std::size_t length) {
        std::vector<std::byte> seen(length);
        memory.read(BusAddress{at}, seen, {});
        return std::ranges::equal(seen, std::span(pattern).first(length));
    }
};

} // namespace

TEST_CASE("a copy moves each byte once, and nothing beside them", "[unit][copy]") {
    Bench b;

    b.ask(0x10000, 0x50003, 9001);
    b.run();

    CHECK(b.holds(0x50003, 9001));
    std::array<std::byte, 1> before{}, behind{};
    b.memory.read(BusAddress{0x50002}, before, {});
    b.memory.read(BusAddress{0x50003 + 9001}, behind, {});
    CHECK(before[0] == std::byte{});
    CHECK(behind[0] == std::byte{});
    CHECK(b.get<"state">() == State::done);
    CHECK(b.get<"copied">() == 9001);
    CHECK(b.get<"copies">() == 1);
    CHECK(b.interrupts.vectors == std::vector<std::uint16_t>{copy_ended});
}

TEST_CASE("memory is read and written piece by piece", "[unit][copy]") {
    Bench b({.piece_bytes = 256});

    b.ask(0x10000, 0x50000, 600);
    b.run();

    std::vector<std::size_t> lengths;
    for (const auto& access : b.memory.log())
        lengths.push_back(access.length);
    CHECK(lengths == std::vector<std::size_t>{256, 256, 256, 256, 88, 88});
    CHECK(b.holds(0x50000, 600));
}

TEST_CASE("a copy begins its latency after the doorbell and ends when its last byte is there", "[unit][copy]") {
    Bench b;
    b.memory.set_latency(100ns);
    b.ask(0x10000, 0x50000, 8192);

    CHECK(b.get<"state">() == State::busy);
    CHECK_FALSE(b.engine.is_quiet());
    CHECK(b.memory.log().empty());
    b.run();

    REQUIRE(b.memory.log().size() == 4);
    CHECK(b.memory.log()[0].at == Time{1us});
    CHECK(b.memory.log()[2].at == Time{1us + 100ns}); // the second read, as soon as the first has come
    CHECK(b.clock.now() == Time{1us + 300ns});
    CHECK(b.engine.is_quiet());
}

TEST_CASE("without the timing model a copy takes no time of its own", "[unit][copy]") {
    Bench b({.timed = false});

    b.ask(0x10000, 0x50000, 100);
    b.run();

    CHECK(b.clock.now() == Time{});
    CHECK(b.holds(0x50000, 100));
}

TEST_CASE("while a copy is under way its registers stand still and the doorbell is not heard", "[unit][copy]") {
    Bench b;
    b.ask(0x10000, 0x50000, 100);

    b.ask(0x20000, 0x60000, 200);
    b.run();

    CHECK(b.holds(0x50000, 100));
    CHECK(b.get<"copied">() == 100);
    CHECK(b.get<"destination">() == 0x50000);
    CHECK(b.get<"copies">() == 1);
}

TEST_CASE("a copy begins at its first byte, also after another one", "[unit][copy]") {
    Bench b;
    b.ask(0x10000, 0x50000, 1000);
    b.run();

    b.ask(0x10000, 0x60000, 500);
    b.run();

    CHECK(b.holds(0x60000, 500));
    CHECK(b.get<"copied">() == 500);
    CHECK(b.get<"copies">() == 2);
}

TEST_CASE("whoever wakes a copy before its time moves nothing", "[unit][copy]") {
    Bench b;
    b.ask(0x10000, 0x50000, 100);

    b.engine.wake(Time{999ns});

    CHECK(b.memory.log().empty());
    CHECK(b.get<"state">() == State::busy);
    b.run();
    CHECK(b.holds(0x50000, 100));
    CHECK(b.get<"copies">() == 1);
}

TEST_CASE("a write that goes on behind the doorbell starts a copy and sets nothing there", "[unit][copy]") {
    Bench b;
    b.set<"source">(0x10000u), b.set<"destination">(0x50000u);
    abi::Block<Registers> block;
    block.view().set<"length">(100).set<"copied">(7).set<"copies">(7);

    b.engine.bar_write(0, 0x10, std::span(block.bytes).subspan(0x10), b.clock.now());

    CHECK(b.get<"copies">() == 0);
    b.run();
    CHECK(b.holds(0x50000, 100));
    CHECK(b.get<"copied">() == 100);
    CHECK(b.get<"copies">() == 1);
}

TEST_CASE("a copy ends at memory that cannot be read, and says how far it came", "[unit][copy]") {
    Bench b({.piece_bytes = 256});
    b.memory.fail(0x10200, 0x10300, DmaStatus::unsupported_request);

    b.ask(0x10000, 0x50000, 1024);
    b.run();

    CHECK(b.get<"state">() == State::failed);
    CHECK(b.get<"copied">() == 512);
    CHECK(b.holds(0x50000, 512));
    CHECK(b.interrupts.vectors.size() == 1);
    b.ask(0x10000, 0x50000, 256);
    CHECK(b.get<"copied">() == 0);
    b.run();
    CHECK(b.get<"state">() == State::done);
    CHECK(b.get<"copies">() == 2);
}

TEST_CASE("a copy ends at memory that it may not write", "[unit][copy]") {
    Bench b({.piece_bytes = 256});
    b.memory.fail(0x50100, 0x50200, DmaStatus::unsupported_request);

    b.ask(0x10000, 0x50000, 1024);
    b.run();

    CHECK(b.get<"state">() == State::failed);
    CHECK(b.get<"copied">() == 256);
}

TEST_CASE("a long copy is moved in turns, and others work in between", "[unit][copy]") {
    Bench b({.timed = false, .piece_bytes = 64});
    b.ask(0x10000, 0x50003, 9001);
    std::size_t most = 0, turns = 0;

    while (b.clock.next() != model::port::never) {
        const auto before = b.memory.log().size();
        b.clock.set(b.clock.next());
        b.engine.wake(b.clock.now());
        most = std::max(most, b.memory.log().size() - before);
        ++turns;
    }

    CHECK(most <= 2 * 16); // a read and a write of each piece
    CHECK(turns > 8);
    CHECK(b.get<"copies">() == 1);
    CHECK(b.holds(0x50003, 9001));
}

TEST_CASE("a copy that begins just after a reset is not kept back by the one that the reset ended", "[unit][copy]") {
    Bench b;
    b.ask(0x10000, 0x50000, 4096);
    b.clock.set(b.clock.now() + 500ns);
    b.engine.reset(b.clock.now());

    b.ask(0x10000, 0x60000, 4096);
    b.run();

    CHECK(b.get<"state">() == State::done);
    CHECK(b.get<"copies">() == 1);
    CHECK(b.holds(0x60000, 4096));
}

TEST_CASE("a write of no bytes inside of the doorbell starts nothing", "[unit][copy]") {
    Bench b;

    b.engine.bar_write(0, Registers::field<"doorbell">::offset + 2, {}, b.clock.now());

    CHECK(b.get<"state">() == State::idle);
    CHECK(b.engine.is_quiet());
}

TEST_CASE("each turn of a long copy has a time of its own, even where nothing takes time", "[unit][copy]") {
    Bench b({.timed = false, .piece_bytes = 64});
    b.ask(0x10000, 0x50003, 9001);
    const auto limit = b.clock.now();

    unsigned turns = 0;
    for (; b.clock.next() <= limit; ++turns) {
        b.clock.set(b.clock.next());
        b.engine.wake(b.clock.now());
    }

    CHECK(turns == 1);
    CHECK(b.get<"state">() == State::busy);
    b.run();
    CHECK(b.holds(0x50003, 9001));
}

TEST_CASE("large pieces make no long turns", "[unit][copy]") {
    Bench b({.timed = false, .piece_bytes = 1 << 20});
    b.ask(0x10000, 0x800000, 4 << 20);

    b.clock.set(b.clock.next());
    b.engine.wake(b.clock.now());

    CHECK(b.memory.log().size() == 2); // one piece
    b.run();
    CHECK(b.holds(0x800000, 10000));
    CHECK(b.get<"copied">() == 4 << 20);
}

TEST_CASE("a copy of nothing ends well", "[unit][copy]") {
    Bench b;

    b.ask(0x10000, 0x50000, 0);
    b.run();

    CHECK(b.get<"state">() == State::done);
    CHECK(b.memory.log().empty());
    CHECK(b.interrupts.vectors.size() == 1);
}

TEST_CASE("a reset forgets the copy that is under way", "[unit][copy]") {
    Bench b;
    b.ask(0x10000, 0x50000, 100);

    b.engine.reset({});
    b.run();

    CHECK(b.memory.log().empty());
    CHECK(b.interrupts.vectors.empty());
    CHECK(b.get<"state">() == State::idle);
    CHECK(b.get<"source">() == 0);
    CHECK(b.engine.is_quiet());
}

TEST_CASE("what is no register reads as zero and takes no write", "[unit][copy]") {
    Bench b;
    const std::array ones{std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};

    for (const auto offset : {Registers::field<"state">::offset, Registers::field<"copied">::offset, Registers::size})
        b.engine.bar_write(0, offset, ones, {});

    std::array<std::byte, 64> seen{};
    seen.fill(std::byte{1});
    b.engine.bar_read(0, 0, seen, {});
    CHECK(std::ranges::all_of(seen, [](std::byte x) { return x == std::byte{}; }));
    CHECK(b.engine.is_quiet());
}

TEST_CASE("settings of the copy engine lead into its configuration, with the default inside the range",
          "[unit][copy]") {
    CopyEngineConfig config;

    for (const auto& setting : config.settings()) {
        CAPTURE(std::string(setting.name));
        REQUIRE_FALSE(std::holds_alternative<std::string*>(setting.value));
        const auto value = std::visit(
            [](auto* at) -> std::uint64_t {
                if constexpr (std::is_same_v<decltype(at), Time*>)
                    return static_cast<std::uint64_t>(at->count());
                else if constexpr (std::is_same_v<decltype(at), std::string*>)
                    return 0;
                else
                    return *at;
            },
            setting.value);
        CHECK(value >= setting.minimum);
        CHECK(value <= setting.maximum);
    }
    *std::get<Time*>(config.settings()[0].value) = 7us;
    *std::get<std::uint32_t*>(config.settings()[1].value) = 64;
    CHECK(config.start_latency == Time{7us});
    CHECK(config.piece_bytes == 64);
}

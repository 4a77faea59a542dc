#include "testbench/harness/sdma_ring.h"

#include <catch2/catch_test_macros.hpp>

#include <random>

using namespace harness;
using namespace model::gpu::memory;
using model::gpu::sdma::Halt;
using sdma::QueueRegister;

namespace {

constexpr auto vram_uc = GpuBench::vram_uc, vram_nc = GpuBench::vram_nc, bus_uc = GpuBench::bus_uc;

struct Bench : GpuBench {
    explicit Bench(MemoryConfig config = MemoryConfig::of(Profile::rdna3_text, Mechanism::m2)) : GpuBench(config) {
        std::mt19937 random(1);
        for (std::size_t i = 0; i < pattern.size(); ++i)
            pattern[i] = static_cast<std::byte>(random());
    }
    void put_in_vram(std::uint64_t offset) {
        std::ranges::copy(pattern, gpu.bytes().begin() + static_cast<std::ptrdiff_t>(offset));
    }
    bool vram_holds(std::uint64_t offset, std::size_t length) {
        return std::ranges::equal(gpu.bytes().subspan(offset, length), std::span(pattern).first(length));
    }
    bool bus_holds(std::uint64_t offset, std::size_t length) {
        return std::ranges::equal(bus.peek(bus_base + offset, length), std::span(pattern).first(length));
    }
    const model::gpu::sdma::Engine& engine(unsigned number = 0) const { return gpu.copy_engine(number); }
    std::vector<std::byte> pattern = std::vector<std::byte>(20'000);
};

} // namespace

TEST_CASE("a copy goes from VRAM to the bus and back to VRAM, and touches nothing beside", "[unit][gpu][sdma]") {
    Bench b;
    b.put_in_vram(0x1000);
    SdmaRing ring(b);

    ring.execute(SdmaPackets{}.copy(vram_uc + 0x1003, bus_uc + 0x5001, 9001).fence(vram_uc, 7));

    CHECK(std::ranges::equal(b.bus.peek(GpuBench::bus_base + 0x5001, 9001), std::span(b.pattern).subspan(3, 9001)));
    CHECK(b.bus.peek(GpuBench::bus_base + 0x5000, 1)[0] == std::byte{});
    CHECK(b.bus.peek(GpuBench::bus_base + 0x5001 + 9001, 1)[0] == std::byte{});
    CHECK(b.in_vram(0) == 7);

    ring.execute(SdmaPackets{}.copy(bus_uc + 0x5001, vram_uc + 0x80003, 9001));

    CHECK(std::ranges::equal(b.gpu.bytes().subspan(0x80003, 9001), std::span(b.pattern).subspan(3, 9001)));
    CHECK(b.gpu.bytes()[0x80002] == std::byte{});
    CHECK(b.gpu.bytes()[0x80003 + 9001] == std::byte{});
    CHECK(b.engine().counters().bytes_copied == 2 * 9001);
    CHECK(ring.get(QueueRegister::rb_rptr) == ring.written());
    for (const auto& access : b.bus.log())
        CHECK(access.purpose == model::port::Purpose::payload);
}

TEST_CASE("physical addresses need no page tables, nor does context 0 while it is off", "[unit][gpu][sdma]") {
    Bench b;
    b.put_in_vram(0x1000);
    SdmaRing ring(b, 1, 3, 0);

    ring.execute(SdmaPackets{}
                     .copy_physical({0x1000, false}, {GpuBench::bus_base + 0x40, true}, 5000)
                     .copy(0x1000, 0x40000, 5000)
                     .fence(0x2'0000, 3));

    CHECK(b.bus_holds(0x40, 5000));
    CHECK(b.vram_holds(0x40000, 5000));
    CHECK(b.in_vram(0x2'0000) == 3);
    CHECK(b.engine(1).counters().packets == 3);
}

TEST_CASE("a fill repeats its pattern from the first byte on", "[unit][gpu][sdma]") {
    Bench b;
    SdmaRing ring(b);

    ring.execute(SdmaPackets{}.fill(vram_uc + 0x1002, 0x4433'2211, 1030));

    for (std::size_t i = 0; i < 1030; ++i)
        REQUIRE(b.gpu.bytes()[0x1002 + i] == static_cast<std::byte>(0x11 * (1 + i % 4)));
    CHECK(b.gpu.bytes()[0x1002 + 1030] == std::byte{});
}

TEST_CASE("data of a write packet follow it in the ring, around its end, too", "[unit][gpu][sdma]") {
    Bench b;
    SdmaRing ring(b);
    for (unsigned lap = 0; lap < 5; ++lap) {
        SdmaPackets packets;
        packets.add<sdma::Write>(sdma::Opcode::write, 0, [&](auto packet) {
            packet.template set<"dst_addr">(vram_uc + 0x1000 * lap).template set<"count">(99u);
        });
        packets.bytes.insert(packets.bytes.end(), b.pattern.begin(), b.pattern.begin() + 400);
        ring.execute(packets.nop(lap)); // packets of odd lengths, so that each lap ends elsewhere

        CHECK(b.vram_holds(0x1000 * lap, 400));
    }
    CHECK(ring.written() > SdmaRing::ring_bytes);
    CHECK_FALSE(b.engine().is_halted());
}

TEST_CASE("a copy sees what waves have left dirty in GL2, and a fence behind a rinse what memory then has",
          "[unit][gpu][sdma]") {
    Bench b;
    const auto wave = b.wave();
    store(*wave, vram_nc + 0x100, 5, {}, b.now());
    REQUIRE(b.in_vram(0x100) == 0);
    SdmaRing ring(b);

    SECTION("by a page that GL2 keeps") { ring.execute(SdmaPackets{}.copy(vram_nc + 0x100, bus_uc, 4)); }
    SECTION("by one that it does not, after a rinse") {
        ring.execute(SdmaPackets{}.rinse().copy(vram_uc + 0x100, bus_uc, 4));
        CHECK(b.in_vram(0x100) == 5);
    }

    CHECK(b.on_bus(0) == 5);
}

TEST_CASE("what is copied to a page that GL2 keeps stays there until it is written back", "[unit][gpu][sdma]") {
    Bench b;
    b.set_on_bus(0, 9);
    SdmaRing ring(b);

    ring.execute(SdmaPackets{}.copy(bus_uc, vram_nc + 0x100, 4));
    CHECK(b.in_vram(0x100) == 0);
    CHECK(load(*b.wave(), vram_nc + 0x100, volatile_load, b.now()) == 9);

    ring.execute(SdmaPackets{}.rinse());
    CHECK(b.in_vram(0x100) == 9);
}

TEST_CASE("a packet begins when all that the one before has written is there", "[unit][gpu][sdma]") {
    Bench b;
    b.put_in_vram(0x1000);
    b.bus.set_latency(3us);
    SdmaRing ring(b);

    ring.write(SdmaPackets{}.copy(vram_uc + 0x1000, bus_uc, 8192).fence(bus_uc + 0x10000, 1));
    ring.ring();
    b.pass(1ms);

    const auto& log = b.bus.log();
    REQUIRE(log.size() == 8192 / 512 + 1);
    Time last{};
    for (std::size_t i = 0; i + 1 < log.size(); ++i)
        last = std::max(last, log[i].at + 3us);
    CHECK(log.back().at >= last);
    CHECK(b.on_bus(0x10000) == 1);
}

TEST_CASE("as many pieces as configured are under way, and no more", "[unit][gpu][sdma]") {
    Bench b;
    b.bus.set_latency(10us);
    SdmaRing ring(b);

    ring.write(SdmaPackets{}.copy(bus_uc, vram_uc + 0x1000, 512 * 200));
    ring.ring();
    b.pass(1ms);

    std::map<Time, unsigned> at;
    for (const auto& access : b.bus.log())
        ++at[access.at];
    CHECK(at.begin()->second == 64);
    for (const auto& account : b.engine().accounts())
        CHECK(account.load(b.now()) <= 1);
}

TEST_CASE("a trap raises the interrupt of its engine", "[unit][gpu][sdma]") {
    Bench b;
    SdmaRing(b, 1).execute(SdmaPackets{}.trap());
    SdmaRing(b, 0, 2).execute(SdmaPackets{}.trap().trap());
    CHECK(b.interrupts.vectors == std::vector<std::uint16_t>{1, 0, 0});
}

TEST_CASE("queues of an engine take turns, packet by packet", "[unit][gpu][sdma]") {
    Bench b;
    SdmaRing one(b, 0, 0), other(b, 0, 5);
    for (std::uint32_t i = 0; i < 3; ++i) {
        one.write(SdmaPackets{}.fence(bus_uc, 10 + i));
        other.write(SdmaPackets{}.fence(bus_uc, 20 + i));
    }
    one.ring(), other.ring();
    std::vector<std::uint32_t> seen;
    for (auto at = b.now(); at < b.now() + 1ms && seen.size() < 6; at += 1us) {
        b.pass(10ns);
        if (const auto value = b.on_bus(0); value != 0 && (seen.empty() || seen.back() != value))
            seen.push_back(value);
    }
    REQUIRE(seen.size() == 6);
    for (std::size_t i = 1; i < seen.size(); ++i)
        CHECK(seen[i] / 10 != seen[i - 1] / 10);
}

TEST_CASE("a fault is on record for the engine, which halts; the other one and the waves go on", "[unit][gpu][sdma]") {
    Bench b;
    b.put_in_vram(0x1000);
    SdmaRing ring(b, 1), other(b, 0);
    const auto nowhere = vram_uc + GpuBench::mapped + 0x5000'0000;

    ring.execute(SdmaPackets{}.copy(vram_uc + 0x1000, nowhere, 64).fence(bus_uc, 1));

    CHECK(b.engine(1).halt_reason() == Halt::page_fault);
    CHECK(b.peek(sdma::control_register(1)) == 1);
    const auto status = abi::gpu::FaultStatus{b.peek(static_cast<std::uint32_t>(abi::gpu::Register::fault_status))};
    CHECK(status.get<"cid">() == sdma::client(1));
    CHECK(status.get<"rw">());
    CHECK(status.get<"vmid">() == GpuBench::vmid);
    CHECK(b.on_bus(0) == 0);
    CHECK(ring.get(QueueRegister::rb_rptr) == 0);
    other.execute(SdmaPackets{}.copy(vram_uc + 0x1000, bus_uc + 0x100, 64));
    CHECK(b.bus_holds(0x100, 64));
    CHECK(load(*b.wave(), vram_uc + 0x1000, plain, b.now()) == b.in_vram(0x1000));

    // The driver passes over the packet and lets the engine run again.
    ring.set(QueueRegister::rb_rptr, sdma::CopyLinear::size);
    b.poke(sdma::control_register(1), 0);
    b.pass(1ms);
    CHECK(b.on_bus(0) == 1);
}

TEST_CASE("what an engine cannot make sense of halts it", "[unit][gpu][sdma]") {
    constexpr auto beyond = std::uint64_t{1} << 63;
    Bench b;
    SdmaRing ring(b);
    auto expected = Halt::bad_packet;
    SdmaPackets packets;
    SECTION("an opcode that it does not know") {
        packets.nop();
        packets.bytes[0] = std::byte{99};
    }
    SECTION("a kind of copy that it does not know") {
        packets.copy(vram_uc, bus_uc, 4);
        packets.bytes[1] = std::byte{3};
    }
    SECTION("a packet that is not whole") {
        packets.fence(bus_uc, 1);
        packets.bytes.resize(12);
    }
    SECTION("data that are not all there") {
        packets.add<sdma::Write>(sdma::Opcode::write, 0, [](auto packet) {
            packet.template set<"count">(20u).template set<"dst_addr">(bus_uc);
        });
    }
    SECTION("memory that is none") {
        packets.copy_physical({GpuBench::vram_bytes - 4, false}, {GpuBench::bus_base, true}, 8);
        expected = Halt::bus_error;
    }
    SECTION("an offset in VRAM that would be an address of the bus") {
        packets.copy_physical({beyond | (GpuBench::bus_base + 64), false}, {GpuBench::bus_base, true}, 4);
        expected = Halt::bus_error;
    }
    SECTION("the same of what needs no page table") {
        SdmaRing flat(b, 0, 1, 0);
        flat.write(SdmaPackets{}.copy(beyond | (GpuBench::bus_base + 64), 0x1000, 4));
        flat.ring();
        expected = Halt::bus_error;
    }
    SECTION("a completion that says no") {
        b.bus.fail(GpuBench::bus_base, GpuBench::bus_base + 64, model::port::DmaStatus::unsupported_request);
        packets.copy(bus_uc, vram_uc, 4);
        expected = Halt::bus_error;
    }
    SECTION("a write pointer that is more than a ring ahead") {
        ring.ring(SdmaRing::ring_bytes + 4);
        expected = Halt::bad_pointer;
    }

    ring.write(packets);
    if (expected != Halt::bad_pointer)
        ring.ring();
    b.pass(1ms);

    CHECK(b.engine().halt_reason() == expected);
    CHECK(b.on_bus(0) == 0);
    CHECK(b.gpu.is_quiet());
}

TEST_CASE("an address of the bus beyond all addresses is none of VRAM", "[unit][gpu][sdma]") {
    Bench b;
    b.put_in_vram(0x1000);
    SdmaRing ring(b);

    ring.write(SdmaPackets{}
                   .copy_physical({std::uint64_t{1} << 63 | 0x1000, true}, {GpuBench::bus_base, true}, 64)
                   .copy_physical({GpuBench::bus_base, true}, {std::uint64_t{1} << 63 | 0x40000, true}, 64));
    ring.ring();
    b.pass(1ms);

    CHECK_FALSE(b.bus_holds(0, 64));
    CHECK(b.in_vram(0x40000) == 0);
}

TEST_CASE("a reset of the GPU takes the engines along, in the middle of a copy", "[unit][gpu][sdma]") {
    Bench b;
    b.bus.set_latency(10us);
    SdmaRing ring(b);
    ring.write(SdmaPackets{}.copy(bus_uc, vram_uc, 512 * 500).fence(bus_uc + 0x80000, 1));
    ring.ring();
    b.pass(25us);
    REQUIRE_FALSE(b.bus.log().empty());
    const auto before = b.bus.log().size();

    b.gpu.reset(b.now());
    b.pass(1ms);

    CHECK(b.bus.log().size() == before);
    CHECK(ring.get(QueueRegister::rb_cntl) == 0);
    CHECK(b.on_bus(0x80000) == 0);
    CHECK(b.gpu.is_quiet());
}

TEST_CASE("the doorbell says that it was rung, and 4 bytes ring it, too", "[unit][gpu][sdma]") {
    Bench b;
    SdmaRing ring(b);
    ring.write(SdmaPackets{}.fence(bus_uc, 1));
    const auto low = static_cast<std::uint32_t>(ring.written());
    b.gpu.bar_write(model::gpu::Gpu::doorbell_bar, 0x100, std::as_bytes(std::span(&low, 1)), b.now());
    b.pass(1ms);

    CHECK(b.on_bus(0) == 1);
    CHECK(sdma::Doorbell{ring.get(QueueRegister::doorbell)}.get<"captured">());
}

TEST_CASE("the read pointer is written to memory behind each packet where that is asked for", "[unit][gpu][sdma]") {
    Bench b;
    SdmaRing ring(b);
    ring.set(QueueRegister::rb_rptr_addr_lo, static_cast<std::uint32_t>(bus_uc + 0x200));
    ring.set(QueueRegister::rb_rptr_addr_hi, static_cast<std::uint32_t>((bus_uc + 0x200) >> 32));
    ring.set(QueueRegister::rb_cntl, ring.get(QueueRegister::rb_cntl) | 1u << 12);

    ring.execute(SdmaPackets{}.nop().fence(bus_uc, 1));

    CHECK(b.on_bus(0x200) == ring.written());
}

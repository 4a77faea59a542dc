#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <cstdint>
#include <map>

using namespace harness;

namespace {
std::vector<std::byte> read(CommandBench& bench, std::uint64_t offset, std::size_t length) {
    std::vector<std::byte> bytes(length, std::byte{0xee});
    bench.device.read(offset, bytes, bench.clock.now());
    return bytes;
}
} // namespace

TEST_CASE("the segment presents revision 5, 32 entries of 64 bytes, and is not initializing",
          "[unit][firmware][init_segment]") {
    CommandBench bench;

    CHECK(bench.read32(0x004) >> 16 == 5);
    CHECK((bench.read32(0x014) & 0xff) == 0x56);
    CHECK((bench.read32(0x014) >> 8 & 7) == 0);
    CHECK(bench.read32(0x1fc) == 0);
    CHECK(bench.read32(0xffc) == 0);
    CHECK(bench.read32(0x230) != 0xffffffff);
    CHECK((bench.read32(0x23c) >> 16 & 0xff) == 0);
}

TEST_CASE("sizes stay readable after the address of the command queue was written", "[unit][firmware][init_segment]") {
    CommandBench bench;
    bench.write32(0x10, 0x12345678);
    bench.write32(0x14, 0x9abcd000);

    CHECK(bench.read32(0x10) == 0x12345678);
    CHECK(bench.read32(0x14) == 0x9abcd056);
}

TEST_CASE("any length and alignment reads the same bytes", "[unit][firmware][init_segment]") {
    CommandBench bench;
    const auto whole = read(bench, 0x000, 0x240);

    for (const std::size_t length : {1u, 2u, 3u, 4u, 7u, 8u, 16u, 64u})
        for (std::size_t at = 0; at + length <= whole.size(); ++at)
            CHECK(read(bench, at, length) ==
                  std::vector<std::byte>(whole.begin() + static_cast<std::ptrdiff_t>(at),
                                         whole.begin() + static_cast<std::ptrdiff_t>(at + length)));
}

TEST_CASE("behind the segment everything reads zero", "[unit][firmware][init_segment]") {
    CommandBench bench;

    CHECK(read(bench, 0x4008, 16) == std::vector<std::byte>(16));
    CHECK(read(bench, 0xfff8, 8) == std::vector<std::byte>(8));
}

TEST_CASE("the timer runs at its frequency, in one 64-bit read or two halves", "[unit][firmware][init_segment]") {
    auto config = untimed();
    config.internal_timer_khz = 1'000'000;
    CommandBench bench(config);
    bench.clock.set(std::chrono::seconds{5} + 7ns);

    CHECK(abi::load<std::uint64_t, std::endian::big>(read(bench, 0x1000, 8).data()) == 5'000'000'007);
    CHECK(bench.read32(0x1000) == 5'000'000'007 >> 32);
    CHECK(bench.read32(0x1004) == (5'000'000'007 & 0xffffffff));
}

TEST_CASE("the timer does not overflow within the days a simulation can last", "[unit][firmware][init_segment]") {
    auto config = untimed();
    config.internal_timer_khz = 156'250;
    CommandBench bench(config);
    bench.clock.set(std::chrono::hours{24 * 100});

    CHECK(abi::load<std::uint64_t, std::endian::big>(read(bench, 0x1000, 8).data()) ==
          24ull * 100 * 3600 * 156'250'000);
}

TEST_CASE("the health counter moves with time and with every read", "[unit][firmware][init_segment]") {
    CommandBench bench;
    const auto first = bench.read32(0x1010);
    const auto second = bench.read32(0x1010);
    CHECK(second == first + 1);

    bench.clock.set(std::chrono::seconds{2});
    CHECK(bench.read32(0x1010) == second + 2001);
}

TEST_CASE("the address may come in one store of eight bytes", "[unit][firmware][init_segment]") {
    CommandBench bench;
    bench.device.reset();
    std::array<std::byte, 8> address;
    abi::store<std::uint64_t, std::endian::big>(address.data(), CommandBench::queue);

    bench.device.write(0x10, address, bench.clock.now());

    CHECK(bench.enable());
}

TEST_CASE("stores of less than a dword and to read-only registers change nothing", "[unit][firmware][init_segment]") {
    CommandBench bench;
    const auto before = read(bench, 0, 0x240);

    bench.device.write(0x14, std::array{std::byte{0xff}}, bench.clock.now());
    bench.device.write(0x10, std::array{std::byte{0xff}, std::byte{0xff}}, bench.clock.now());
    bench.write32(0x000, 0xffffffff);
    bench.write32(0x1fc, 0xffffffff);
    bench.write32(0x230, 0xffffffff);

    CHECK(read(bench, 0, 0x240) == before);
}

TEST_CASE("a write to the segment changes exactly the bits that their rows let software change",
          "[unit][firmware][init_segment][access]") {
    using Segment = prm::InitialSegment;
    std::map<std::size_t, std::uint32_t> writable;
    for (const auto& field : Segment::fields)
        if (field.access == abi::AccessPolicy::rw)
            writable[field.offset] |=
                (field.kind == abi::FieldKind::whole ? ~0u : (2u << field.high) - (1u << field.low));
    REQUIRE(writable.size() == 2);          // the address of the command queue, and what stands beside its lower half
    constexpr auto nic_interface = 7u << 8; // takes only the values that are offered: cases of their own
    constexpr auto health_counter = Segment::field<"health_counter">::offset;

    for (std::size_t at = 0; at < 0x1048; at += 4) {
        CAPTURE(at);
        CommandBench bench;
        const auto left_out = at == 0x14 ? nic_interface : at == health_counter ? 0xff'ffffu : 0u;
        const auto mask = writable[at] & ~left_out;
        const auto before = bench.read32(at) & ~left_out;

        bench.write32(at, ~0u);
        CHECK((bench.read32(at) & ~left_out) == (before | mask));
        bench.write32(at, 0);
        CHECK((bench.read32(at) & ~left_out) == (before & ~mask));
    }
}

TEST_CASE("a driver that turns the interface off finds it off, and every object gone when it returns",
          "[unit][firmware][init_segment]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    bench.write32(0x14, (CommandBench::queue & 0xfffff000) | 1 << 8);
    CHECK((bench.read32(0x14) >> 8 & 7) == 1);
    bench.fill(Input<prm::EnableHcaIn>(prm::Opcode::enable_hca).bytes, 12);
    bench.ring(1);
    CHECK(!bench.collect<prm::EnableHcaOut>().is_back);

    bench.set_queue_address();
    CHECK((bench.read32(0x14) >> 8 & 7) == 0);
    CHECK(bench.initialize());
}

TEST_CASE("a software reset is not offered and does nothing", "[unit][firmware][init_segment]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    bench.write32(0x14, (CommandBench::queue & 0xfffff000) | 7 << 8);

    CHECK((bench.read32(0x14) >> 8 & 7) == 0);
    CHECK(bench.device.state().phase() == firmware::Phase::initialized);
}

TEST_CASE("a function-level reset forgets the command queue, the pages and every object",
          "[unit][firmware][init_segment]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    REQUIRE(bench.set_gid());
    const auto qpn = bench.make_qp(bench.make_objects());

    bench.device.reset();

    CHECK(bench.read32(0x10) == 0);
    CHECK(bench.read32(0x14) == 0x56);
    CHECK(bench.device.state().pages.given() == 0);
    CHECK(bench.hca.queue_pairs().find(qpn) == nullptr);
    CHECK(!bench.hca.identity().gids[0].is_valid);
    bench.set_queue_address();
    CHECK(bench.initialize());
}

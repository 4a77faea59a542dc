#include "testbench/module/platform/bridge/vfio_user/mapped_guest.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cerrno>

using namespace testbench;
using namespace testbench::guest;

namespace {

/// Memory by messages, of a client that always agrees.
struct Asked final : MessageDma {
    unsigned count = 0;
    DmaStatus read(std::uint64_t, std::span<std::byte>) override { return ++count, DmaStatus::ok; }
    DmaStatus write(std::uint64_t, std::span<const std::byte>) override { return ++count, DmaStatus::ok; }
    void abandon() override {}
};

} // namespace

// --- registers ---

TEST_CASE("a client reads and writes configuration space in any cut", "[module][vfio_user]") {
    MappedGuest s;
    std::array<std::byte, 256> whole{};
    s.port(0).read(abi::vfio_user::config_region, 0, whole);
    CHECK(abi::load<std::uint32_t, abi::Endian::little>(whole.data()) == 0x0001'1234);
    std::array<std::byte, 7> cut{};
    s.port(0).read(abi::vfio_user::config_region, 1, cut);
    CHECK(std::ranges::equal(cut, std::span(whole).subspan(1, 7)));

    s.config_write(0, 0x0c, 1, 0x40); // cache line size
    CHECK(s.config_read(0, 0x0c, 1) == 0x40);
}

TEST_CASE("a BAR is reached by its number, wherever the client has put it", "[module][vfio_user]") {
    MappedGuest s;
    s.port(0).write(0, 0x100, pattern(1));
    s.port(0).work();
    std::array<std::byte, 8> seen{};
    s.port(0).read(0, 0x100, seen);
    CHECK(seen == pattern(1));
    CHECK(std::ranges::equal(std::span(s.first.function.registers).subspan(0x100, 8), pattern(1)));
    CHECK(s.second.function.writes == 0);
    CHECK(s.port(0).region_size(0) == 0x10000);
    CHECK(s.port(0).region_size(1) == 0);
}

TEST_CASE("a BAR that does not decode reads as all ones and takes no writes", "[module][vfio_user]") {
    MappedGuest s;
    s.config_write(0, 4, 2, 0);
    s.port(0).write(0, 0, pattern(1));
    s.port(0).work();
    std::array<std::byte, 4> seen{};
    s.port(0).read(0, 0, seen);
    CHECK(std::ranges::all_of(seen, [](auto b) { return b == std::byte{0xff}; }));
    CHECK(s.first.function.writes == 0);
}

// --- memory ---

TEST_CASE("a card's DMA moves bytes of the guest's file", "[module][vfio_user]") {
    MappedGuest s;
    REQUIRE(s.map(0, 0, 8 * page) == 0);
    REQUIRE(s.map(0, 0x1'0000'0000, 8 * page, 16 * page) == 0);

    CHECK(s.write(s.first, BusAddress{0x1'0000'0010}, pattern(3)) == DmaStatus::ok);
    CHECK(std::ranges::equal(s.ram.bytes().subspan(16 * page + 0x10, 8), pattern(3)));
    std::array<std::byte, 8> seen{};
    CHECK(s.dma(s.first).read(BusAddress{0x1'0000'0010}, seen, {}).is_ok());
    CHECK(seen == pattern(3));
    CHECK(s.dma(s.first).lend(BusAddress{0x1'0000'0010}, 8, {}).data != nullptr);
}

TEST_CASE("DMA outside of what is mapped ends with Unsupported Request", "[module][vfio_user]") {
    MappedGuest s;
    REQUIRE(s.map(0, 4 * page, 4 * page) == 0);
    for (const auto address : {std::uint64_t{0}, 4 * page - 4, 8 * page, 8 * page - 4, std::uint64_t{0x9'0000'0000}}) {
        auto data = pattern(1);
        CHECK(s.dma(s.first).read(BusAddress{address}, data, {}).status == DmaStatus::unsupported_request);
        CHECK(s.write(s.first, BusAddress{address}, data) == DmaStatus::unsupported_request);
    }
}

TEST_CASE("one function's map is not another's", "[module][vfio_user]") {
    MappedGuest s;
    REQUIRE(s.map(0, 0, 4 * page) == 0);
    auto data = pattern(1);
    CHECK(s.write(s.second, BusAddress{0}, data) == DmaStatus::unsupported_request);
    REQUIRE(s.map(1, 0, 4 * page, 8 * page) == 0);
    CHECK(s.dma(s.second).write(BusAddress{0}, data, {}).is_ok());
    CHECK(s.ram.bytes()[0] == std::byte{0});
    CHECK(s.ram.bytes()[8 * page] == data[0]);
    CHECK(s.files.size() == 1);
}

TEST_CASE("after an unmap nothing is written any more, and after a new map to the new place", "[module][vfio_user]") {
    MappedGuest s;
    REQUIRE(s.map(0, 0, 4 * page) == 0);
    REQUIRE(s.dma(s.first).write(BusAddress{0}, pattern(1), {}).is_ok()); // the path is known now

    REQUIRE(s.port(0).unmap({0, 4 * page, false}) == 0);
    CHECK(s.write(s.first, BusAddress{0}, pattern(7)) == DmaStatus::unsupported_request);
    CHECK(std::ranges::equal(s.ram.bytes().first(8), pattern(1)));

    REQUIRE(s.map(0, 0, 4 * page, 32 * page) == 0);
    CHECK(s.write(s.first, BusAddress{0}, pattern(9)) == DmaStatus::ok);
    CHECK(std::ranges::equal(s.ram.bytes().first(8), pattern(1)));
    CHECK(std::ranges::equal(s.ram.bytes().subspan(32 * page, 8), pattern(9)));
}

namespace {

/// A packet under way that refers to 8 bytes of the first card's memory.
model::port::Payload lend(MappedGuest& s, std::uint64_t address) {
    auto& dma = s.dma(s.first);
    model::port::Payload payload;
    payload.lend({dma.lend(BusAddress{address}, 8, {}).data, 8}, dma.loans().requests);
    return payload;
}

} // namespace

TEST_CASE("when an unmap is answered, packets under way refer to nothing of what went, and still to the rest",
          "[module][vfio_user][loan]") {
    MappedGuest s;
    REQUIRE(s.map(0, 0, 8 * page) == 0);
    REQUIRE(s.map(0, 0x10'0000, 8 * page, 16 * page) == 0);
    std::ranges::copy(pattern(3), s.ram.bytes().begin());
    const auto gone = lend(s, 0), last = lend(s, 8 * page - 8), kept = lend(s, 0x10'0000);

    REQUIRE(s.port(0).unmap({0, 8 * page, false}) == 0);
    std::ranges::fill(s.ram.bytes(), std::byte{0xee}); // the next owner's

    CHECK_FALSE(gone.is_lent());
    CHECK_FALSE(last.is_lent());
    CHECK(kept.is_lent());
    std::array<std::byte, 8> bytes{};
    gone.copy_to(bytes);
    CHECK(bytes == pattern(3));
}

TEST_CASE("when an unmap of everything is answered, packets under way refer to nothing", "[module][vfio_user][loan]") {
    MappedGuest s;
    REQUIRE(s.map(0, 0, 8 * page) == 0);
    REQUIRE(s.map(0, 0x10'0000, 8 * page, 16 * page) == 0);
    const auto first = lend(s, 0), second = lend(s, 0x10'0000);

    REQUIRE(s.port(0).unmap({0, 0, true}) == 0);

    CHECK_FALSE(first.is_lent());
    CHECK_FALSE(second.is_lent());
}

TEST_CASE("what may only be read is not written", "[module][vfio_user]") {
    MappedGuest s;
    REQUIRE(s.map(0, 0, page, 0, false) == 0);
    std::array<std::byte, 8> data{};
    CHECK(s.dma(s.first).read(BusAddress{0}, data, {}).is_ok());
    CHECK(s.write(s.first, BusAddress{0}, pattern(1)) == DmaStatus::unsupported_request);
    CHECK(s.ram.bytes()[0] == std::byte{0});
}

TEST_CASE("a function that is no bus master does no DMA", "[module][vfio_user]") {
    MappedGuest s;
    REQUIRE(s.map(0, 0, page) == 0);
    s.config_write(0, 4, 2, 2);
    CHECK(s.write(s.first, BusAddress{0}, pattern(1)) == DmaStatus::unsupported_request);
}

// --- peers ---

TEST_CASE("a card reaches the other card's BAR at the address its client gave it", "[module][vfio_user]") {
    MappedGuest s;
    const BusAddress there{GuestMachine::memory_bar(1) + 0x40};
    CHECK(s.dma(s.first).write(there, pattern(5), {}).is_ok());
    CHECK(std::ranges::equal(std::span(s.second.function.memory).subspan(0x40, 8), pattern(5)));

    s.config_write(1, 0x18, 4, 5 << 24); // the client moves the BAR
    CHECK(s.write(s.first, there, pattern(6)) == DmaStatus::unsupported_request);
    CHECK(s.write(s.first, BusAddress{0x8'0500'0040}, pattern(6)) == DmaStatus::ok);
    CHECK(std::ranges::equal(std::span(s.second.function.memory).subspan(0x40, 8), pattern(6)));
}

TEST_CASE("memory of the client goes before the BAR of a peer", "[module][vfio_user]") {
    MappedGuest s;
    const auto bar = GuestMachine::memory_bar(1);
    REQUIRE(s.dma(s.first).write(BusAddress{bar}, pattern(1), {}).is_ok()); // a path to the peer is known
    REQUIRE(s.map(0, bar, page) == 0);
    CHECK(s.write(s.first, BusAddress{bar}, pattern(2)) == DmaStatus::ok);
    CHECK(std::ranges::equal(s.ram.bytes().first(8), pattern(2)));
    CHECK(s.write(s.first, BusAddress{bar + page}, pattern(3)) == DmaStatus::ok);
    CHECK(std::ranges::equal(std::span(s.second.function.memory).subspan(page, 8), pattern(3)));
    CHECK(std::ranges::equal(std::span(s.second.function.memory).first(8), pattern(1)));
}

TEST_CASE("a card does not reach its own BAR", "[module][vfio_user]") {
    MappedGuest s;
    CHECK(s.write(s.first, BusAddress{GuestMachine::memory_bar(0)}, pattern(1)) == DmaStatus::unsupported_request);
}

TEST_CASE("a peer's BAR that the client announces as memory without a file is reached inside", "[module][vfio_user]") {
    MappedGuest s;
    Asked asked;
    s.port(0).set_messages(&asked);
    constexpr std::uint64_t bar_bytes = 1 << 20;
    REQUIRE(s.port(0).map({GuestMachine::memory_bar(1), bar_bytes, 0, true, true}, {}) == 0);

    for (unsigned pass = 0; pass < 2; ++pass) { // by a request, and by the path that it found
        REQUIRE(s.dma(s.first)
                    .write(BusAddress{GuestMachine::memory_bar(1) + 0x40}, pattern(3 + static_cast<int>(pass)), {})
                    .is_ok());
        CHECK(std::ranges::equal(std::span(s.second.function.memory).subspan(0x40, 8),
                                 pattern(3 + static_cast<int>(pass))));
    }
    CHECK(asked.count == 0);

    // Another range that only begins there is the client's business, as behind an IOMMU.
    REQUIRE(s.port(0).unmap({GuestMachine::memory_bar(1), bar_bytes, false}) == 0);
    REQUIRE(s.port(0).map({GuestMachine::memory_bar(1), page, 0, true, true}, {}) == 0);
    REQUIRE(s.dma(s.first).write(BusAddress{GuestMachine::memory_bar(1) + 0x40}, pattern(9), {}).is_ok());
    CHECK(asked.count == 1);
    CHECK(std::ranges::equal(std::span(s.second.function.memory).subspan(0x40, 8), pattern(4)));
    s.port(0).set_messages(nullptr);
}

TEST_CASE("neither a request for a translation nor a read of no bytes asks the client", "[module][vfio_user][ats]") {
    MappedGuest s({.entries = 16});
    Asked asked;
    s.port(0).set_messages(&asked);
    REQUIRE(s.port(0).map({0, page, 0, true, true}, {}) == 0);
    REQUIRE(s.map(0, page, page) == 0);
    const auto read = [&](std::uint64_t address, std::span<std::byte> into) {
        return s.dma(s.first).read(BusAddress{address}, into, {}).status;
    };
    std::array<std::byte, 8> bytes{};

    CHECK(read(0, {}) == DmaStatus::ok);
    CHECK(read(page, {}) == DmaStatus::ok);
    CHECK(read(2 * page, {}) == DmaStatus::unsupported_request);
    s.config_write(0, 0x106, 2, 0x8000); // ATS on
    CHECK(read(0, bytes) == DmaStatus::unsupported_request);
    CHECK(read(page, bytes) == DmaStatus::unsupported_request);
    CHECK(asked.count == 0);
    s.port(0).set_messages(nullptr);
}

#include "platform/bridge/vfio_user/guest_module.h"

#include "testbench/harness/guest_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cerrno>

using namespace testbench;
using namespace platform::bridge::vfio_user;
using abi::BusAddress;
using model::port::DmaStatus;

namespace {

constexpr std::uint64_t page = 4096;

struct Served : GuestMachine {
    GuestRam ram{64 * page};
    explicit Served(const model::pcie::AtsConfig& ats = {}) : GuestMachine(ats) {
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        enable(0);
        enable(1);
    }
    int map(unsigned number, std::uint64_t address, std::uint64_t size, std::uint64_t offset = 0,
            bool is_writable = true) {
        return port(number).map({address, size, offset, true, is_writable}, ram.descriptor());
    }
    model::port::Dma& dma(ScratchCard& card) { return card.endpoint.dma(); }
    /// What becomes of it, also where the card does not hear of it.
    DmaStatus write(ScratchCard& card, BusAddress address, std::span<const std::byte> data) {
        return card.fate(dma(card).write(address, data, {}));
    }
};

std::array<std::byte, 8> pattern(int seed) {
    std::array<std::byte, 8> out;
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::byte>(seed + static_cast<int>(i));
    return out;
}

IrqSetRequest irqs(IrqSetRequest::Data data, IrqSetRequest::Action action, std::uint32_t start, std::uint32_t count) {
    return {data, action, 2, start, count, {}};
}
using Data = IrqSetRequest::Data;
using Action = IrqSetRequest::Action;

int set_event(FunctionPort& port, std::uint32_t vector, const EventCounter& event) {
    std::vector<Descriptor> files;
    files.push_back(event.descriptor());
    return port.set_irqs(irqs(Data::eventfd, Action::trigger, vector, 1), std::move(files));
}

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
    Served s;
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
    Served s;
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
    Served s;
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
    Served s;
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
    Served s;
    REQUIRE(s.map(0, 4 * page, 4 * page) == 0);
    for (const auto address : {std::uint64_t{0}, 4 * page - 4, 8 * page, 8 * page - 4, std::uint64_t{0x9'0000'0000}}) {
        auto data = pattern(1);
        CHECK(s.dma(s.first).read(BusAddress{address}, data, {}).status == DmaStatus::unsupported_request);
        CHECK(s.write(s.first, BusAddress{address}, data) == DmaStatus::unsupported_request);
    }
}

TEST_CASE("one function's map is not another's", "[module][vfio_user]") {
    Served s;
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
    Served s;
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
model::port::Payload lend(Served& s, std::uint64_t address) {
    auto& dma = s.dma(s.first);
    model::port::Payload payload;
    payload.lend({dma.lend(BusAddress{address}, 8, {}).data, 8}, dma.loans().requests);
    return payload;
}

} // namespace

TEST_CASE("when an unmap is answered, packets under way refer to nothing of what went, and still to the rest",
          "[module][vfio_user][loan]") {
    Served s;
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
    Served s;
    REQUIRE(s.map(0, 0, 8 * page) == 0);
    REQUIRE(s.map(0, 0x10'0000, 8 * page, 16 * page) == 0);
    const auto first = lend(s, 0), second = lend(s, 0x10'0000);

    REQUIRE(s.port(0).unmap({0, 0, true}) == 0);

    CHECK_FALSE(first.is_lent());
    CHECK_FALSE(second.is_lent());
}

TEST_CASE("what may only be read is not written", "[module][vfio_user]") {
    Served s;
    REQUIRE(s.map(0, 0, page, 0, false) == 0);
    std::array<std::byte, 8> data{};
    CHECK(s.dma(s.first).read(BusAddress{0}, data, {}).is_ok());
    CHECK(s.write(s.first, BusAddress{0}, pattern(1)) == DmaStatus::unsupported_request);
    CHECK(s.ram.bytes()[0] == std::byte{0});
}

TEST_CASE("a function that is no bus master does no DMA", "[module][vfio_user]") {
    Served s;
    REQUIRE(s.map(0, 0, page) == 0);
    s.config_write(0, 4, 2, 2);
    CHECK(s.write(s.first, BusAddress{0}, pattern(1)) == DmaStatus::unsupported_request);
}

// --- peers ---

TEST_CASE("a card reaches the other card's BAR at the address its client gave it", "[module][vfio_user]") {
    Served s;
    const BusAddress there{GuestMachine::memory_bar(1) + 0x40};
    CHECK(s.dma(s.first).write(there, pattern(5), {}).is_ok());
    CHECK(std::ranges::equal(std::span(s.second.function.memory).subspan(0x40, 8), pattern(5)));

    s.config_write(1, 0x18, 4, 5 << 24); // the client moves the BAR
    CHECK(s.write(s.first, there, pattern(6)) == DmaStatus::unsupported_request);
    CHECK(s.write(s.first, BusAddress{0x8'0500'0040}, pattern(6)) == DmaStatus::ok);
    CHECK(std::ranges::equal(std::span(s.second.function.memory).subspan(0x40, 8), pattern(6)));
}

TEST_CASE("memory of the client goes before the BAR of a peer", "[module][vfio_user]") {
    Served s;
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
    Served s;
    CHECK(s.write(s.first, BusAddress{GuestMachine::memory_bar(0)}, pattern(1)) == DmaStatus::unsupported_request);
}

TEST_CASE("a peer's BAR that the client announces as memory without a file is reached inside", "[module][vfio_user]") {
    Served s;
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
    Served s({.entries = 16});
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

// --- interrupts ---

TEST_CASE("a vector signals its eventfd and no other", "[module][vfio_user]") {
    Served s;
    EventCounter one, two;
    REQUIRE(set_event(s.port(0), 1, one) == 0);
    REQUIRE(set_event(s.port(0), 2, two) == 0);
    s.enable_msix(0);

    s.first.endpoint.interrupts().raise(1, {});
    s.first.endpoint.interrupts().raise(1, {});
    CHECK(one.take() == 2);
    CHECK(two.take() == 0);
    s.second.endpoint.interrupts().raise(1, {});
    CHECK(one.take() == 0);
}

TEST_CASE("a vector without an eventfd is pending until it has one", "[module][vfio_user]") {
    Served s;
    s.enable_msix(0);
    s.first.endpoint.interrupts().raise(3, {});
    std::array<std::byte, 8> pending{};
    s.port(0).read(0, 0x3000, pending);
    CHECK(pending[0] == std::byte{1 << 3});

    EventCounter event;
    REQUIRE(set_event(s.port(0), 3, event) == 0);
    CHECK(event.take() == 1);
    s.port(0).read(0, 0x3000, pending);
    CHECK(pending[0] == std::byte{0});
}

TEST_CASE("a masked vector, or function, is pending until it is unmasked", "[module][vfio_user]") {
    Served s;
    EventCounter event;
    REQUIRE(set_event(s.port(0), 0, event) == 0);
    s.enable_msix(0);

    REQUIRE(s.port(0).set_irqs(irqs(Data::none, Action::mask, 0, 1), {}) == 0);
    s.first.endpoint.interrupts().raise(0, {});
    CHECK(event.take() == 0);
    REQUIRE(s.port(0).set_irqs(irqs(Data::none, Action::unmask, 0, 1), {}) == 0);
    CHECK(event.take() == 1);

    s.enable_msix(0, true);
    s.first.endpoint.interrupts().raise(0, {});
    CHECK(event.take() == 0);
    s.enable_msix(0, false);
    CHECK(event.take() == 1);
}

TEST_CASE("a client can trigger a vector itself", "[module][vfio_user]") {
    Served s;
    EventCounter event;
    REQUIRE(set_event(s.port(0), 0, event) == 0);
    CHECK(s.port(0).set_irqs(irqs(Data::none, Action::trigger, 0, 1), {}) == 0);
    CHECK(event.take() == 1);
}

TEST_CASE("interrupts are off after 'none, trigger, 0'", "[module][vfio_user]") {
    Served s;
    EventCounter event;
    REQUIRE(set_event(s.port(0), 0, event) == 0);
    s.enable_msix(0);
    REQUIRE(s.port(0).set_irqs(irqs(Data::none, Action::trigger, 0, 0), {}) == 0);
    s.first.endpoint.interrupts().raise(0, {});
    CHECK(event.take() == 0);
    CHECK(s.first.endpoint.msix().is_pending(0));
}

TEST_CASE("a descriptor that is no eventfd is refused", "[module][vfio_user]") {
    Served s;
    std::vector<Descriptor> files;
    files.push_back(s.ram.descriptor());
    CHECK(s.port(0).set_irqs(irqs(Data::eventfd, Action::trigger, 0, 1), std::move(files)) == EINVAL);
}

TEST_CASE("the MSI-X table in the BAR is not the client's to write", "[module][vfio_user]") {
    Served s;
    EventCounter event;
    REQUIRE(set_event(s.port(0), 0, event) == 0);
    s.enable_msix(0);
    s.port(0).write(0, 0x2000, std::array<std::byte, 16>{});
    s.port(0).work();
    s.first.endpoint.interrupts().raise(0, {});
    CHECK(event.take() == 1);
}

TEST_CASE("an interrupt message of no vector is dropped", "[module][vfio_user]") {
    Served s;
    const std::array data{std::byte{99}, std::byte{0}, std::byte{0}, std::byte{0}};
    CHECK(s.dma(s.first).write(BusAddress{0xfee0'0000}, data, {}).is_ok());
    CHECK(s.dma(s.first).write(BusAddress{0xfee0'0001}, data, {}).is_ok());
    CHECK(s.port(0).signals() == 0);
}

// --- resets ---

TEST_CASE("BARs and eventfds survive a function-level reset, mastering does not", "[module][vfio_user]") {
    Served s;
    EventCounter event;
    REQUIRE(s.map(0, 0, page) == 0);
    REQUIRE(set_event(s.port(0), 0, event) == 0);
    s.enable_msix(0);

    s.config_write(0, model::pcie::pci_express_offset + 8u, 2, 0x8000);

    CHECK(s.first.function.resets == 1);
    CHECK(s.config_read(0, 0x10) == 0xe000'0000);
    CHECK(s.config_read(0, 0x1c) == 8);
    CHECK(s.config_read(0, 4, 2) == 0);
    CHECK(s.write(s.first, BusAddress{0}, pattern(1)) == DmaStatus::unsupported_request);
    s.config_write(0, 4, 2, 6);
    s.enable_msix(0);
    s.port(0).write(0, 0, pattern(1));
    s.port(0).work();
    CHECK(s.first.function.writes == 1);
    CHECK(s.write(s.first, BusAddress{0}, pattern(1)) == DmaStatus::ok);
    s.first.endpoint.interrupts().raise(0, {});
    CHECK(event.take() == 1);
}

TEST_CASE("a reset of the device clears its configuration and keeps the client's memory", "[module][vfio_user]") {
    Served s;
    REQUIRE(s.map(0, 0, page) == 0);
    s.port(0).reset();
    s.port(0).work();
    CHECK(s.first.function.resets == 1);
    CHECK(s.config_read(0, 4, 2) == 0);
    s.enable(0);
    CHECK(s.write(s.first, BusAddress{0}, pattern(1)) == DmaStatus::ok);
}

TEST_CASE("when the client goes, its memory and interrupts go and the function is reset", "[module][vfio_user]") {
    Served s;
    EventCounter event;
    REQUIRE(s.map(0, 0, page) == 0);
    REQUIRE(set_event(s.port(0), 0, event) == 0);
    s.enable_msix(0);
    REQUIRE(s.dma(s.first).write(BusAddress{0}, pattern(1), {}).is_ok());

    s.port(0).disconnect();

    CHECK(s.first.function.resets == 1);
    CHECK(s.second.function.resets == 0);
    s.enable(0);
    s.enable_msix(0);
    CHECK(s.write(s.first, BusAddress{0}, pattern(2)) == DmaStatus::unsupported_request);
    s.first.endpoint.interrupts().raise(0, {});
    CHECK(event.take() == 0);
    s.files.sweep();
    CHECK(s.files.size() == 0);
}

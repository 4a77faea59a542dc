#include "model/pcie/endpoint_space.h"

#include <catch2/catch_test_macros.hpp>

using namespace model;
using namespace model::pcie;
using port::DmaStatus;

namespace {
constexpr std::uint16_t command = 0x04, status = 0x06, bar0 = 0x10, bar1 = 0x14, bar2 = 0x18, pm_control = 0x44,
                        device_control = 0x68, device_status = 0x6a, link_control = 0x70, msix_control = 0x9e,
                        rebar_control = 0x108;

FunctionConfig config() {
    FunctionConfig function;
    function.identity = {.vendor_id = 0x1234,
                         .device_id = 0x5678,
                         .subsystem_vendor_id = 1,
                         .subsystem_id = 2,
                         .class_code = 0x020700,
                         .revision = 3};
    function.bars[0] = {.size = 0x10000};
    function.bars[1] = {.size = std::uint64_t{8} << 30,
                        .is_64bit = true,
                        .is_prefetchable = true,
                        .resizable_sizes = 0x3fff}; // 1 MiB to 8 GiB
    function.msix_vectors = 4;
    return function;
}
void write(EndpointSpace& space, std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    REQUIRE_FALSE(space.write(offset, bytes, value));
}
} // namespace

TEST_CASE("identity reads in any width and cannot be written", "[unit][pcie][config]") {
    EndpointSpace space(config());

    write(space, 0, 4, 0);
    write(space, 8, 4, 0);

    CHECK(space.read(0, 4) == 0x56781234);
    CHECK(space.read(2, 2) == 0x5678);
    CHECK(space.read(1, 1) == 0x12);
    CHECK(space.read(8, 4) == 0x02070003);
    CHECK(space.read(0x2c, 4) == 0x00020001);
}

TEST_CASE("a function says that there are others behind its link only where there are", "[unit][pcie][config]") {
    EndpointSpace alone(config());
    EndpointSpace one_of_several(config(), true);

    CHECK(alone.read(0x0e, 1) == 0);
    CHECK(one_of_several.read(0x0e, 1) == 0x80);
    write(one_of_several, 0x0e, 1, 0);
    one_of_several.reset(true);
    CHECK(one_of_several.read(0x0e, 1) == 0x80);
}

TEST_CASE("accesses across dwords or out of the space read as ones and write nothing", "[unit][pcie][config]") {
    EndpointSpace space(config());
    const auto before = space.read(command, 4);

    CHECK(space.read(3, 2) == ~0u);
    CHECK(space.read(2, 4) == ~0u);
    CHECK(space.read(0, 3) == ~0u);
    CHECK(space.read(0, 0) == ~0u);
    CHECK(space.read(4096, 4) == ~0u);
    CHECK(space.read(4094, 4) == ~0u);
    write(space, 3, 2, 0xffff);
    write(space, 4096, 4, ~0u);
    CHECK(space.read(command, 4) == before);
}

TEST_CASE("BARs size by writing ones", "[unit][pcie][config]") {
    EndpointSpace space(config());

    for (const auto bar : {bar0, bar1, bar2, std::uint16_t{0x1c}, std::uint16_t{0x24}, std::uint16_t{0x30}})
        write(space, bar, 4, ~0u);

    CHECK(space.read(bar0, 4) == 0xffff0000);
    CHECK(space.read(bar1, 4) == 0x0000000c); // 64 bits, prefetchable; 8 GiB has no bit below 33
    CHECK(space.read(bar2, 4) == 0xfffffffe);
    CHECK(space.read(0x1c, 4) == 0); // absent
    CHECK(space.read(0x24, 4) == 0);
    CHECK(space.read(0x30, 4) == 0); // no expansion ROM
}

TEST_CASE("a BAR decodes only while memory space is enabled", "[unit][pcie][config]") {
    EndpointSpace space(config());
    write(space, bar0, 4, 0xfe000000);
    write(space, bar2, 4, 0x100); // BAR 1, out of the way
    CHECK_FALSE(space.decode(0xfe000010));

    write(space, command, 2, 2);

    REQUIRE(space.decode(0xfe000010));
    CHECK(space.decode(0xfe000010)->bar == 0);
    CHECK(space.decode(0xfe000010)->offset == 0x10);
    CHECK(space.decode(0xfe00ffff)->left == 1);
    CHECK_FALSE(space.decode(0xfe010000));
    CHECK_FALSE(space.decode(0xfdffffff));
}

TEST_CASE("a 64-bit BAR takes both registers, byte by byte", "[unit][pcie][config]") {
    EndpointSpace space(config());
    write(space, bar2 + 1, 1, 0x01); // address bits 47..40
    write(space, command, 2, 2);

    CHECK(space.decode(0x100'0000'0000 + 5)->bar == 1);
    CHECK(space.decode(0x100'0000'0000 + 5)->offset == 5);
}

TEST_CASE("in D3hot a function decodes nothing and masters nothing", "[unit][pcie][config]") {
    EndpointSpace space(config());
    write(space, bar0, 4, 0xfe000000);
    write(space, bar2, 4, 0x100);
    write(space, command, 2, 6);
    REQUIRE(space.meaning().is_master);

    write(space, pm_control, 2, 1); // D1 is not supported: nothing happens
    CHECK(space.read(pm_control, 2) == 8);
    CHECK(space.meaning().is_master);
    write(space, pm_control, 2, 3);

    CHECK_FALSE(space.meaning().is_master);
    CHECK_FALSE(space.decode(0xfe000000));
    write(space, pm_control, 2, 0);
    CHECK(space.decode(0xfe000000));
}

TEST_CASE("the chain of capabilities is power management, PCI Express, MSI-X", "[unit][pcie][config]") {
    EndpointSpace space(config());

    const auto first = static_cast<std::uint16_t>(space.read(0x34, 1));
    const auto second = static_cast<std::uint16_t>(space.read(first + 1, 1));
    const auto third = static_cast<std::uint16_t>(space.read(second + 1, 1));

    CHECK((space.read(status, 2) & 0x10) != 0);
    CHECK(space.read(first, 1) == 0x01);
    CHECK(space.read(second, 1) == 0x10);
    CHECK(space.read(third, 1) == 0x11);
    CHECK(space.read(third + 1, 1) == 0);
    CHECK(space.read(0x100, 4) == 0x00010015);
}

TEST_CASE("a function with a gateway has it behind MSI-X, or behind PCI Express", "[unit][pcie][config]") {
    auto function = config();
    function.has_gateway = true;
    const EndpointSpace with_msix(function);
    function.msix_vectors = 0;
    const EndpointSpace without(function);

    CHECK(with_msix.read(0x9d, 1) == 0xc0);
    CHECK(without.read(0x61, 1) == 0xc0);
    CHECK(without.read(0xc0, 4) == 0x00180009); // the last one, 24 bytes, functional
    CHECK_FALSE(without.is_gateway(0xc3));
    CHECK(without.is_gateway(0xc4));
    CHECK(without.is_gateway(0xd7));
    CHECK_FALSE(without.is_gateway(0xd8));
    CHECK_FALSE(EndpointSpace(config()).is_gateway(0xc4));
}

TEST_CASE("MSI-X control takes enable and function mask, and nothing else", "[unit][pcie][config]") {
    EndpointSpace space(config());
    write(space, msix_control, 2, 0xffff);

    CHECK(space.read(msix_control, 2) == 0xc003);
    CHECK(space.meaning().msix_enable);
    CHECK(space.meaning().msix_function_mask);
    CHECK(space.read(0xa0, 4) == 0x2000);
    CHECK(space.read(0xa4, 4) == 0x3000);
}

TEST_CASE("packet sizes follow device control", "[unit][pcie][config]") {
    EndpointSpace space(config());
    CHECK(space.meaning().sizes == TlpSizes::of(128, 512)); // after reset

    write(space, device_control, 2, 1 << 5 | 5 << 12);

    CHECK(space.meaning().sizes == TlpSizes::of(256, 4096));
    write(space, device_control, 2, 7 << 5 | 7 << 12); // reserved codes act as the largest size
    CHECK(space.meaning().sizes == TlpSizes::of(4096, 4096));
}

TEST_CASE("a resized BAR has the new size and loses the bits it no longer has", "[unit][pcie][rebar]") {
    EndpointSpace space(config());
    write(space, bar1, 4, 0x40000000);
    write(space, bar2, 4, 0x00000003);
    CHECK(space.read(rebar_control, 4) == (13u << 8 | 1 << 5 | 1));
    CHECK(space.read(0x104, 4) == 0x3fffu << 4);

    write(space, rebar_control + 1, 1, 8); // 256 MiB

    write(space, command, 2, 2);
    CHECK(space.meaning().bars[1].size == 256 << 20);
    write(space, bar1, 4, 0x50000000);
    CHECK(space.meaning().bars[1].base == 0x2'5000'0000);
    write(space, rebar_control + 1, 1, 13);
    CHECK(space.meaning().bars[1].base == 0x2'0000'0000);
    CHECK(space.meaning().bars[1].size == std::uint64_t{8} << 30);
}

TEST_CASE("a size that a resizable BAR does not have changes nothing", "[unit][pcie][rebar]") {
    EndpointSpace space(config());
    write(space, rebar_control, 4, 14u << 8);
    write(space, rebar_control, 4, 63u << 8);
    write(space, command, 2, 2);

    CHECK(space.read(rebar_control, 4) == (13u << 8 | 1 << 5 | 1));
    CHECK(space.meaning().bars[1].size == std::uint64_t{8} << 30);
}

TEST_CASE("function-level reset restores everything but MPS and link control", "[unit][pcie][config]") {
    EndpointSpace space(config());
    write(space, command, 2, 6);
    write(space, bar0, 4, 0xfe000000);
    write(space, device_control, 2, 2 << 5 | 3 << 12);
    write(space, link_control, 2, 0x48); // and RCB
    write(space, msix_control, 2, 0x8000);
    const auto link_control2 = static_cast<std::uint16_t>(device_control + 0x28);
    write(space, link_control2, 2, 1);

    CHECK(space.write(device_control + 1, 1, 0x80));

    CHECK(space.read(command, 2) == 0);
    CHECK(space.read(bar0, 4) == 0);
    CHECK((space.read(device_control, 2) & 0xe0) == 2 << 5);
    CHECK((space.read(device_control, 2) & 0xf000) == 2 << 12); // MRRS 512 again; the reset bit reads as zero
    CHECK(space.read(link_control, 2) == 0x48);
    CHECK((space.read(link_control2, 2) & 0xf) == 1); // the target link speed is sticky
    CHECK_FALSE(space.meaning().msix_enable);
    CHECK(space.meaning().sizes == TlpSizes::of(512, 512));
}

TEST_CASE("error bits are set by events and cleared by writing ones", "[unit][pcie][config]") {
    EndpointSpace space(config());
    space.note_received(DmaStatus::unsupported_request);
    space.note_received(DmaStatus::completer_abort);
    space.note_refused(DmaStatus::unsupported_request, true);
    space.note_refused(DmaStatus::completer_abort, false);
    CHECK(space.read(status, 2) == 0x3810);
    CHECK(space.read(device_status, 2) == 0x0b);

    write(space, status, 2, 0x2000);
    write(space, device_status, 2, 0x08);

    CHECK(space.read(status, 2) == 0x1810);
    CHECK(space.read(device_status, 2) == 0x03);
    write(space, command, 4, 0x0000'0000); // zeroes clear nothing
    CHECK(space.read(status, 2) == 0x1810);
}

TEST_CASE("functions that cannot be built are refused", "[unit][pcie][config]") {
    CHECK(find_fault(config()) == nullptr);
    auto bad = config();
    bad.bars[0].size = 0x3000;
    CHECK(find_fault(bad) != nullptr);
    bad = config();
    bad.bars[2].size = 0x1000; // the upper half of BAR 1
    CHECK(find_fault(bad) != nullptr);
    bad = config();
    bad.bars[1].resizable_sizes = 1; // 8 GiB is not among them
    CHECK(find_fault(bad) != nullptr);
    bad = config();
    bad.msix_vectors = 257; // runs into the pending bits
    CHECK(find_fault(bad) != nullptr);
    bad = config();
    bad.msix_bar = 3;
    CHECK(find_fault(bad) != nullptr);
}

#include "testbench/harness/pcie_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace model;
using namespace testbench;
using abi::BusAddress;
using pcie::Direction;
using pcie::TargetKind;
using pcie::Traffic;
using port::DmaStatus;
using port::Purpose;

namespace {
std::array<std::byte, 64> pattern(unsigned seed) {
    std::array<std::byte, 64> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i * 3 + seed);
    return bytes;
}
void start() { sc_core::sc_start(sc_core::SC_ZERO_TIME); }
} // namespace

TEST_CASE("a write between two cards stays inside the switch", "[module][pcie]") {
    PcieMachine machine;
    start();
    machine.enable_master(1);
    const auto up = machine.host.upstream_link()->traffic(Direction::upstream);
    const auto down = machine.host.upstream_link()->traffic(Direction::downstream);
    const auto out = machine.host.slot_link(0)->traffic(Direction::upstream);
    const auto bytes = pattern(7);
    std::array<std::byte, 64> back{};

    const BusAddress target{machine.bar(2, 2) + 0x100};
    REQUIRE(machine.first.endpoint.dma().write(target, bytes, {}, Purpose::payload).is_ok());
    REQUIRE(machine.first.endpoint.dma().read(target, back, {}, Purpose::payload).is_ok());

    CHECK(std::equal(bytes.begin(), bytes.end(), machine.second.function.memory.begin() + 0x100));
    CHECK(machine.second.function.memory[0xff] == std::byte{});
    CHECK(machine.second.function.memory[0x140] == std::byte{});
    CHECK(back == bytes);
    CHECK(machine.host.upstream_link()->traffic(Direction::upstream) == up);
    CHECK(machine.host.upstream_link()->traffic(Direction::downstream) == down);
    // One write of 16 + 8 + 64 bytes and one read request of 16 + 8.
    const auto sent = machine.host.slot_link(0)->traffic(Direction::upstream);
    CHECK(sent.tlps == out.tlps + 2);
    CHECK(sent.wire_bytes == out.wire_bytes + 88 + 24);
    CHECK(sent.payload_bytes == out.payload_bytes + 64);
    CHECK(machine.first.endpoint.volume(TargetKind::peer).payload() == 128);
    CHECK(machine.first.endpoint.volume(TargetKind::host_memory).total() == 0);
}

TEST_CASE("DMA to host memory goes up and is counted as such", "[module][pcie]") {
    PcieMachine machine;
    start();
    machine.enable_master(1);
    const auto block = *machine.host.memory().allocate(8192);
    const auto before = machine.host.upstream_link()->traffic(Direction::upstream);
    const auto bytes = pattern(1);

    REQUIRE(machine.first.endpoint.dma().write(BusAddress{block.bus + 5}, bytes, {}).is_ok());
    const auto loan = machine.first.endpoint.dma().lend(BusAddress{block.bus + 5}, 64, {});

    CHECK(std::equal(bytes.begin(), bytes.end(), block.data + 5));
    CHECK(loan.data == block.data + 5);
    CHECK(machine.host.upstream_link()->traffic(Direction::upstream).tlps == before.tlps + 2);
    CHECK(machine.first.endpoint.volume(TargetKind::host_memory).payload() == 0);
    CHECK(machine.first.endpoint.volume(TargetKind::host_memory).total() == 128);
}

TEST_CASE("a request to an address nobody claims ends with Unsupported Request", "[module][pcie]") {
    PcieMachine machine;
    start();
    machine.enable_master(1);
    std::array<std::byte, 8> bytes{};

    CHECK(machine.first.endpoint.dma().read(BusAddress{0x5000'0000'0000}, bytes, {}).status ==
          DmaStatus::unsupported_request);
    // Its own window: a switch does not send a request back where it came from.
    CHECK(machine.first.endpoint.dma().read(BusAddress{machine.bar(1, 2)}, bytes, {}).status ==
          DmaStatus::unsupported_request);
    // Received Master Abort, in the status register of the requester.
    CHECK((machine.host.root_complex().config_read(machine.found(1).bdf, 6, 2, {}).value & 0x2000) != 0);
}

TEST_CASE("a write to an address nobody claims is lost, and its requester does not hear of it", "[module][pcie]") {
    PcieMachine machine;
    start();
    machine.enable_master(1);
    const std::array<std::byte, 8> bytes{};
    const auto port = machine.found(1).parent;
    auto& root = machine.host.root_complex();

    CHECK(machine.first.endpoint.dma().write(BusAddress{0xd000'0000}, bytes, {}).is_ok());

    REQUIRE(machine.first.lost.size() == 1);
    CHECK(machine.first.lost[0].requester == machine.found(1).bdf.value);
    CHECK(machine.first.lost[0].address == 0xd000'0000);
    CHECK(machine.first.lost[0].length == 8);
    CHECK(machine.first.lost[0].status == static_cast<std::uint8_t>(DmaStatus::unsupported_request));
    // Aborts in a status register are those of completions. Who refused it has it in its own registers.
    CHECK((root.config_read(machine.found(1).bdf, 6, 2, {}).value & 0x3000) == 0);
    const auto above = machine.host.enumeration().find(machine.host.enumeration().find(port)->parent)->parent;
    CHECK((root.config_read(above, model::pcie::pci_express_offset + 0xa, 2, {}).value & 0x8) != 0);
}

TEST_CASE("a read that the target aborts ends with Completer Abort", "[module][pcie]") {
    PcieMachine machine;
    start();
    machine.enable_master(1);
    std::array<std::byte, 4> bytes{};

    const auto result = machine.first.endpoint.dma().read(
        BusAddress{machine.bar(2, 0) + ScratchFunction::aborting_register}, bytes, {});

    CHECK(result.status == DmaStatus::completer_abort);
    CHECK((machine.host.root_complex().config_read(machine.found(1).bdf, 6, 2, {}).value & 0x1000) != 0);
    CHECK((machine.host.root_complex().config_read(machine.found(2).bdf, 6, 2, {}).value & 0x0800) != 0);
}

TEST_CASE("without bus master enable no request leaves a function", "[module][pcie]") {
    PcieMachine machine;
    start();
    const auto block = *machine.host.memory().allocate(4096);
    const std::array<std::byte, 8> bytes{std::byte{1}};
    auto& dma = machine.first.endpoint.dma();

    CHECK(dma.write(BusAddress{block.bus}, bytes, {}).status == DmaStatus::unsupported_request);
    CHECK(block.data[0] == std::byte{});

    machine.enable_master(1);
    CHECK(dma.write(BusAddress{block.bus}, bytes, {}).is_ok());
    CHECK(block.data[0] == std::byte{1});

    machine.enable_master(1, false);
    const auto before = machine.host.slot_link(0)->traffic(Direction::upstream);
    CHECK(dma.write(BusAddress{block.bus + 8}, bytes, {}).status == DmaStatus::unsupported_request);
    CHECK(dma.lend(BusAddress{block.bus}, 8, {}).data == nullptr);
    CHECK(machine.host.slot_link(0)->traffic(Direction::upstream) == before);
}

TEST_CASE("an access that runs over two ranges is split between them", "[module][pcie]") {
    PcieMachine machine;
    start();
    machine.enable_master(1);
    const auto end = machine.bar(2, 2) + (1 << 20);
    const auto bytes = pattern(9);

    // The last 32 bytes of the BAR, and 32 bytes that nobody claims.
    const auto result = machine.first.endpoint.dma().write(BusAddress{end - 32}, bytes, {});

    CHECK(machine.first.fate(result) == DmaStatus::unsupported_request);
    CHECK(std::equal(bytes.begin(), bytes.begin() + 32, machine.second.function.memory.end() - 32));
}

TEST_CASE("a BAR that moves is found at its new place only", "[module][pcie]") {
    PcieMachine machine;
    start();
    machine.enable_master(1);
    auto& dma = machine.first.endpoint.dma();
    auto& root = machine.host.root_complex();
    const auto old = machine.bar(2, 2), moved = old + (1 << 20);
    const auto bdf = machine.found(2).bdf;
    const auto bytes = pattern(3);
    REQUIRE(dma.write(BusAddress{old}, bytes, {}).is_ok());
    REQUIRE(machine.first.endpoint.known_windows() == 1);

    // The window of the bridge above grows by the new place, then the BAR moves.
    const auto parent = machine.found(2).parent;
    const auto limit = root.config_read(parent, 0x26, 2, {}).value;
    root.config_write(parent, 0x26, 2, limit + 0x10, {});
    const auto upper = machine.host.enumeration().find(parent)->parent;
    root.config_write(upper, 0x26, 2, root.config_read(upper, 0x26, 2, {}).value + 0x10, {});
    root.config_write(bdf, 0x18, 4, static_cast<std::uint32_t>(moved), {});

    CHECK(machine.first.endpoint.known_windows() == 0);
    CHECK(machine.first.fate(dma.write(BusAddress{old}, bytes, {})) == DmaStatus::unsupported_request);
    CHECK(dma.write(BusAddress{moved + 0x40}, bytes, {}).is_ok());
    CHECK(std::equal(bytes.begin(), bytes.end(), machine.second.function.memory.begin() + 0x40));
}

TEST_CASE("clearing memory space enable closes a function's BARs", "[module][pcie]") {
    PcieMachine machine;
    start();
    machine.enable_master(1);
    auto& dma = machine.first.endpoint.dma();
    std::array<std::byte, 8> bytes{};
    REQUIRE(dma.read(BusAddress{machine.bar(2, 2)}, bytes, {}).is_ok());

    machine.host.root_complex().config_write(machine.found(2).bdf, 4, 2, 0, {});

    CHECK(dma.read(BusAddress{machine.bar(2, 2)}, bytes, {}).status == DmaStatus::unsupported_request);
}

TEST_CASE("function-level reset stops DMA, clears BARs and reaches the device", "[module][pcie]") {
    PcieMachine machine;
    start();
    machine.enable_master(1);
    auto& root = machine.host.root_complex();
    const auto bdf = machine.found(1).bdf;
    const auto control = root.config_read(bdf, 0x68, 2, {}).value;

    root.config_write(bdf, 0x68, 2, control | 0x8000, {});

    CHECK(machine.first.function.resets == 1);
    CHECK(machine.second.function.resets == 0);
    CHECK(root.config_read(bdf, 4, 2, {}).value == 0);
    CHECK(root.config_read(bdf, 0x10, 4, {}).value == 0);
    CHECK((root.config_read(bdf, 0x68, 2, {}).value & 0x80e0) == (control & 0xe0)); // MPS survives
    std::array<std::byte, 8> bytes{};
    CHECK(machine.first.endpoint.dma().read(BusAddress{0x100000}, bytes, {}).status == DmaStatus::unsupported_request);
}

TEST_CASE("the vendor-specific capability reaches the device without its BAR, until a reset", "[module][pcie]") {
    PcieMachine machine;
    start();
    auto& root = machine.host.root_complex();
    const auto bdf = machine.found(1).bdf;
    constexpr std::uint16_t gateway = 0xc0;
    machine.first.function.registers[0x44] = std::byte{0x5a};

    root.config_write(bdf, gateway + 0x04, 4, 2, {});
    root.config_write(bdf, gateway + 0x10, 4, 0x44, {});
    CHECK(root.config_read(bdf, gateway + 0x14, 4, {}).value == 0x5a);
    root.config_write(bdf, gateway + 0x14, 4, 0x77, {});
    root.config_write(bdf, gateway + 0x10, 4, 0x8000'0048, {});

    CHECK(machine.first.function.registers[0x48] == std::byte{0x77});
    CHECK(machine.second.function.registers[0x48] == std::byte{0});
    CHECK(root.config_read(bdf, gateway, 4, {}).value == 0x00180009);
    root.config_write(bdf, gateway, 4, ~0u, {}); // the header
    CHECK(root.config_read(bdf, gateway, 4, {}).value == 0x00180009);
    root.config_write(bdf, gateway + 0x0c, 4, 5, {}); // somebody takes it
    root.config_write(bdf, 0x68, 2, 0x8000, {});      // function-level reset
    CHECK(root.config_read(bdf, gateway + 0x0c, 4, {}).value == 0);
}

TEST_CASE("a reset of the secondary bus resets what is behind the port", "[module][pcie]") {
    PcieMachine machine;
    start();
    auto& root = machine.host.root_complex();

    root.config_write(machine.found(2).parent, 0x3e, 1, 0x40, {});

    CHECK(machine.first.function.resets == 0);
    CHECK(machine.second.function.resets == 1);
    CHECK(root.config_read(machine.found(2).bdf, 4, 2, {}).value == 0);
}

TEST_CASE("configuration reads of absent functions are all ones", "[module][pcie]") {
    PcieMachine machine;
    start();
    auto& root = machine.host.root_complex();

    CHECK(root.config_read(abi::pcie::Bdf{0, 31, 0}, 0, 4, {}).value == ~0u);
    CHECK(root.config_read(abi::pcie::Bdf{200, 0, 0}, 0, 2, {}).value == 0xffff);
    CHECK(root.config_read(abi::pcie::Bdf{machine.found(1).bdf.bus(), 1, 0}, 0, 4, {}).value == ~0u);
    CHECK(root.config_read(abi::pcie::Bdf{machine.found(1).bdf.bus(), 0, 1}, 0, 4, {}).value == ~0u);
}

TEST_CASE("the processor reaches configuration space through ECAM too", "[module][pcie]") {
    PcieMachine machine;
    start();
    auto& root = machine.host.root_complex();
    std::array<std::byte, 4> id{};
    const auto address = root.core().map().ecam + abi::pcie::ecam_offset(machine.found(2).bdf, 0);

    REQUIRE(root.processor().read(BusAddress{address}, id, {}).is_ok());

    CHECK(abi::load<std::uint32_t, std::endian::little>(id.data()) == 0x0002'1234);
    // A device has no way there.
    machine.enable_master(1);
    CHECK(machine.first.endpoint.dma().read(BusAddress{address}, id, {}).status == DmaStatus::unsupported_request);
}

TEST_CASE("timed transfers queue on a link and come later than they were sent", "[module][pcie][timed]") {
    platform::host::HostConfig config;
    config.device_link.latency = config.upstream_link.latency = std::chrono::nanoseconds{100};
    PcieMachine machine(true, config);
    start();
    machine.enable_master(1);
    auto& dma = machine.first.endpoint.dma();
    std::vector<std::byte> bytes(1 << 20);
    const auto now = port::Time{std::chrono::microseconds{5}};

    const auto first = dma.write(BusAddress{machine.bar(2, 2)}, bytes, now, Purpose::payload);
    const auto second = dma.write(BusAddress{machine.bar(2, 2)}, std::span(bytes).first(64), now, Purpose::payload);

    const auto& link = *machine.host.slot_link(0);
    const auto wire_bits = (bytes.size() / 256) * (256 + 24) * 8.0;
    const auto expected_ns = wire_bits / link.usable_gbps() + 200;
    const auto took = static_cast<double>((first.done - now).count()) / 1000;
    CHECK(took > expected_ns * 0.99);
    CHECK(took < expected_ns * 1.01);
    CHECK(second.done > first.done);
}

TEST_CASE("a read takes the way there, the memory and the way back", "[module][pcie][timed]") {
    platform::host::HostConfig config;
    config.device_link.latency = config.upstream_link.latency = std::chrono::nanoseconds{100};
    config.dram_read_latency = std::chrono::nanoseconds{90};
    PcieMachine machine(true, config);
    start();
    machine.enable_master(1);
    std::array<std::byte, 8> bytes{};
    const port::Time now = std::chrono::microseconds{10};

    const auto result = machine.first.endpoint.dma().read(BusAddress{0x10'0000}, bytes, now);

    CHECK(result.done - now > std::chrono::nanoseconds{490});
    CHECK(result.done - now < std::chrono::nanoseconds{500});
}

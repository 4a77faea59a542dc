#include "testbench/harness/pcie_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace model;
using namespace testbench;
using abi::pcie::Bdf;
using abi::pcie::PortType;

namespace {
void start() { sc_core::sc_start(sc_core::SC_ZERO_TIME); }
} // namespace

TEST_CASE("enumeration finds root port, switch and cards, depth first", "[module][host]") {
    PcieMachine machine;
    start();
    const auto& found = machine.host.enumeration();

    CHECK(found.problems.empty());
    REQUIRE(found.functions.size() == 6);
    const std::array types{PortType::root_port, PortType::switch_upstream,   PortType::switch_downstream,
                           PortType::endpoint,  PortType::switch_downstream, PortType::endpoint};
    const std::array numbers{Bdf{0, 1, 0}, Bdf{1, 0, 0}, Bdf{2, 0, 0}, Bdf{3, 0, 0}, Bdf{2, 1, 0}, Bdf{4, 0, 0}};
    for (std::size_t i = 0; i < types.size(); ++i) {
        CHECK(found.functions[i].port_type == types[i]);
        CHECK(found.functions[i].bdf == numbers[i]);
    }
    CHECK(found.functions[0].subordinate == 4);
    CHECK(found.functions[1].secondary == 2);
    CHECK(found.functions[1].subordinate == 4);
    CHECK(found.functions[4].secondary == 4);
    CHECK(found.find(0x1234, 2)->msix_vectors == 8);
    CHECK(found.find(0x1234, 3) == nullptr);
}

TEST_CASE("BARs are aligned, disjoint and inside the windows above them", "[module][host]") {
    PcieMachine machine;
    start();
    const auto& map = machine.host.root_complex().core().map();
    std::vector<pcie::Range> all;
    for (const auto& function : machine.host.enumeration().functions)
        for (const auto& bar : function.bars) {
            if (bar.size == 0)
                continue;
            CHECK(bar.address % bar.size == 0);
            const auto& space = bar.is_64bit && bar.is_prefetchable ? map.high_mmio : map.low_mmio;
            CHECK(bar.address >= space.begin);
            CHECK(bar.address + bar.size <= space.end);
            for (const auto& other : all)
                CHECK((bar.address >= other.end || other.begin >= bar.address + bar.size));
            all.push_back({bar.address, bar.address + bar.size});
        }
    CHECK(all.size() == 4);
}

TEST_CASE("enumeration enables memory space and leaves bus mastering of cards to drivers", "[module][host]") {
    PcieMachine machine;
    start();
    auto& root = machine.host.root_complex();
    for (const auto& function : machine.host.enumeration().functions)
        CHECK((root.config_read(function.bdf, 4, 2, {}).value & 6) == (function.is_bridge ? 6u : 2u));
}

TEST_CASE("packet sizes are the lowest of the tree", "[module][host]") {
    platform::host::HostConfig config;
    config.device_link.max_payload = config.upstream_link.max_payload = 512;
    config.max_read_request = 1024;
    PcieMachine machine(false, config);
    start();

    CHECK(machine.host.enumeration().max_payload == 256); // what the cards can
    const auto control = machine.host.root_complex().config_read(machine.found(1).bdf, 0x68, 2, {}).value;
    CHECK((control >> 5 & 7) == 1);
    CHECK((control >> 12 & 7) == 3);
}

TEST_CASE("links come up with what both ends can", "[module][host]") {
    platform::host::HostConfig config;
    config.device_link.generation = 3;
    config.device_link.width = 8;
    PcieMachine machine(false, config);
    start();
    auto& root = machine.host.root_complex();

    CHECK(machine.host.slot_link(0)->config().generation == 3);
    CHECK(machine.host.slot_link(0)->config().width == 8);
    CHECK(root.config_read(machine.found(1).bdf, 0x72, 2, {}).value == (8u << 4 | 3));
    // The port above says that its link is active.
    CHECK(root.config_read(machine.found(1).parent, 0x72, 2, {}).value == (0x2000u | 8u << 4 | 3));
}

TEST_CASE("a machine with slots at the root and an empty one enumerates", "[module][host]") {
    platform::host::HostConfig config;
    config.switch_slots = 0;
    config.root_slots = 3;
    platform::host::Host host("host", config);
    ScratchCard first("first", 1), second("second", 2);
    host.plug(0, first.endpoint);
    host.plug(2, second.endpoint);
    start();

    CHECK(host.enumeration().functions.size() == 5);
    CHECK(host.enumeration().find(0x1234, 2)->bdf == Bdf{3, 0, 0});
    CHECK(host.links().size() == 2);

    // Peer to peer between root ports goes through the root complex.
    host.root_complex().config_write(host.enumeration().find(0x1234, 1)->bdf, 4, 2, 6, {});
    const std::array bytes{std::byte{7}};
    CHECK(first.endpoint.dma()
              .write(abi::BusAddress{host.enumeration().find(0x1234, 2)->bars[2].address}, bytes, {})
              .is_ok());
    CHECK(second.function.memory[0] == std::byte{7});
}

TEST_CASE("enumerating again finds the same machine", "[module][host]") {
    PcieMachine machine;
    start();
    const auto before = machine.host.enumeration();

    machine.host.enumerate();

    const auto& after = machine.host.enumeration();
    REQUIRE(after.functions.size() == before.functions.size());
    for (std::size_t i = 0; i < before.functions.size(); ++i) {
        CHECK(after.functions[i].bdf == before.functions[i].bdf);
        for (std::size_t bar = 0; bar < before.functions[i].bars.size(); ++bar) {
            CHECK(after.functions[i].bars[bar].address == before.functions[i].bars[bar].address);
            CHECK(after.functions[i].bars[bar].size == before.functions[i].bars[bar].size);
        }
    }
}

TEST_CASE("a BAR without room leaves its function disabled and is told", "[module][host]") {
    platform::host::HostConfig config;
    config.switch_slots = 0;
    config.root_slots = 2;
    platform::host::Host host("host", config);
    ScratchCard small("small", 1);
    auto shape = ScratchFunction::config(2);
    shape.bars[0].size = std::uint64_t{1} << 31; // 2 GiB of 32-bit space: the machine has 1.5
    ScratchFunction function;
    pcie::EndpointModule big("big", shape, function);
    host.plug(0, small.endpoint);
    host.plug(1, big);
    start();

    CHECK(host.enumeration().problems.size() == 1);
    const auto* found = host.enumeration().find(0x1234, 2);
    REQUIRE(found != nullptr);
    CHECK((host.root_complex().config_read(found->bdf, 4, 2, {}).value & 2) == 0);
    CHECK((host.root_complex().config_read(host.enumeration().find(0x1234, 1)->bdf, 4, 2, {}).value & 2) == 2);
}

#include "testbench/module/platform/bridge/in_process_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <optional>

using namespace in_process_test;

TEST_CASE("a driver reads identity, BARs and registers of its function", "[module][bridge]") {
    Driver driver(false, [](PcieMachine& machine, InProcessTransport& transport) {
        machine.first.function.registers[0x40] = std::byte{0x5a};

        CHECK(transport.config_read(0, 4) == 0x0001'1234);
        CHECK(transport.config_read(0, 2) == 0x1234);
        CHECK(transport.bar_size(0) == 0x10000);
        CHECK(transport.bar_size(1) == 0);
        CHECK(transport.bar_size(2) == 1 << 20);
        CHECK(transport.bar_size(3) == 0);
        CHECK(transport.bar_address(2) == machine.bar(1, 2));
        CHECK(read32(transport, 0, 0x40) == 0x5a);
        CHECK(read32(transport, 1, 0) == ~0u);
        CHECK(read32(transport, 0, 0xfffe) == ~0u); // runs out of the BAR
    });
    driver.run();
}

TEST_CASE("a posted register write arrives once, with its bytes in memory order", "[module][bridge]") {
    Driver driver(false, [](PcieMachine& machine, InProcessTransport& transport) {
        const std::array bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                               std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};
        transport.mmio_write(0, 0x800, bytes);

        CHECK(machine.first.function.writes == 1);
        CHECK(std::equal(bytes.begin(), bytes.end(), machine.first.function.registers.begin() + 0x800));
        CHECK(machine.first.function.registers[0x808] == std::byte{});
        transport.mmio_write(0, 0x10000, bytes);
        CHECK(machine.first.function.writes == 1);
    });
    driver.run();
}

TEST_CASE("a function without memory space reads as all ones", "[module][bridge]") {
    Driver driver(false, [](PcieMachine&, InProcessTransport& transport) {
        REQUIRE(read32(transport, 0, 0) == 0);
        transport.config_write(4, 2, 0);
        CHECK(read32(transport, 0, 0) == ~0u);
        transport.config_write(4, 2, 2);
        CHECK(read32(transport, 0, 0) == 0);
    });
    driver.run();
}

TEST_CASE("DMA memory is zeroed, aligned, disjoint, and given back", "[module][bridge]") {
    Driver driver(false, [](PcieMachine& machine, InProcessTransport& transport) {
        auto first = transport.allocate(100);
        auto second = transport.allocate(1 << 20, 1 << 20);
        REQUIRE(first);
        REQUIRE(second);
        CHECK(first->bus % 4096 == 0);
        CHECK(second->bus % (1 << 20) == 0);
        CHECK(machine.host.memory().at(second->bus) == second->data);
        first->data[0] = std::byte{9};
        transport.release(*first);
        const auto again = transport.allocate(100);
        CHECK(again->bus == first->bus);
        CHECK(again->data[0] == std::byte{});
        CHECK_FALSE(transport.allocate(std::size_t{5} << 30));
        transport.release(*again);
        transport.release(*second);
        CHECK(machine.host.memory().allocated_bytes() == 0);
    });
    driver.run();
}

TEST_CASE("a peer's BAR can be mapped, other addresses cannot", "[module][bridge]") {
    Driver driver(false, [](PcieMachine& machine, InProcessTransport& transport) {
        const auto bar = machine.bar(2, 2);
        CHECK(transport.map_peer(bar + 0x1000, 0x1000).value() == bar + 0x1000);
        CHECK_FALSE(transport.map_peer(bar, (1 << 20) + 1));
        CHECK_FALSE(transport.map_peer(0x1000, 0x1000));
    });
    driver.run();
}

TEST_CASE("an interrupt wakes the driver that waits for its vector", "[module][bridge][msix]") {
    PcieMachine machine;
    std::optional<Time> woken;
    Thread driver("driver", [&] {
        InProcessTransport transport(machine.host, machine.found(1).bdf);
        transport.config_write(4, 2, 6);
        REQUIRE(transport.enable_interrupts(4));
        CHECK_FALSE(transport.wait_interrupt(2, 1us));
        CHECK(transport.wait_interrupt(3, 1s));
        woken = transport.now();
        CHECK_FALSE(transport.wait_interrupt(3, 1us)); // once raised, once seen
        CHECK_FALSE(transport.wait_interrupt(2, 0ns));
        CHECK_FALSE(transport.wait_interrupt(4, 1us)); // not enabled
    });
    Later card("card", 5us, [&] { machine.first.endpoint.interrupts().raise(3, Time{5us}); });

    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));

    REQUIRE(driver.is_finished());
    CHECK(woken == Time{5us});
    CHECK(machine.host.interrupts().spurious() == 0);
}

TEST_CASE("an interrupt of timed links is seen when its message has arrived", "[module][bridge][msix][timed]") {
    PcieMachine machine(true, {.software = {.interrupt = 0ns}});
    std::optional<Time> woken;
    Thread driver("driver", [&] {
        InProcessTransport transport(machine.host, machine.found(1).bdf);
        transport.config_write(4, 2, 6);
        REQUIRE(transport.enable_interrupts(1));
        CHECK(transport.wait_interrupt(0, 1s));
        woken = transport.now();
    });
    // The device works ahead: at 50 us it raises for 60 us.
    Later card("card", 50us, [&] { machine.first.endpoint.interrupts().raise(0, Time{60us}); });

    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));

    REQUIRE(driver.is_finished());
    REQUIRE(woken);
    CHECK(*woken >= Time{60us + 200ns}); // two links of 100 ns
    CHECK(*woken < Time{60us + 220ns});
}

// The message is short and finds room on the links before the write has crossed them; it arrives at the same instant,
// since it does not pass (PCIe 6.0 §2.4.1).
TEST_CASE("who is woken by an interrupt sees what was written before it", "[module][bridge][msix][timed]") {
    PcieMachine machine(true, {.software = {.interrupt = 0ns}});
    std::optional<sw::transport::DmaMemory> memory;
    std::optional<std::byte> seen;
    Thread driver("driver", [&] {
        InProcessTransport transport(machine.host, machine.found(1).bdf);
        transport.config_write(4, 2, 6);
        memory = *transport.allocate(64 << 10);
        REQUIRE(transport.enable_interrupts(1));
        CHECK(transport.wait_interrupt(0, 1s));
        seen = memory->bytes().back();
    });
    Later card("card", 50us, [&] {
        const std::vector<std::byte> bytes(64 << 10, std::byte{7});
        machine.first.endpoint.dma().write(abi::BusAddress{memory->bus}, bytes, Time{60us});
        machine.first.endpoint.interrupts().raise(0, Time{60us});
    });

    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));

    REQUIRE(driver.is_finished());
    CHECK(seen == std::byte{7});
}

TEST_CASE("a masked vector stays pending and is delivered when unmasked", "[module][bridge][msix]") {
    PcieMachine machine;
    Thread driver("driver", [&] {
        InProcessTransport transport(machine.host, machine.found(1).bdf);
        transport.config_write(4, 2, 6);
        REQUIRE(transport.enable_interrupts(2));
        const auto control = std::uint64_t{0x2000} + 16 + 12;
        auto& card = machine.first.endpoint;
        const auto write32 = [&](std::uint64_t offset, std::uint32_t value) {
            std::array<std::byte, 4> bytes;
            abi::store<std::uint32_t, std::endian::little>(bytes.data(), value);
            transport.mmio_write(0, offset, bytes);
        };

        write32(control, 1);
        card.interrupts().raise(1, {});
        CHECK_FALSE(transport.wait_interrupt(1, 1us));
        CHECK(read32(transport, 0, 0x3000) == 2);
        write32(0x3000, 0); // pending bits are read only
        CHECK(read32(transport, 0, 0x3000) == 2);
        write32(control, 0);
        CHECK(read32(transport, 0, 0x3000) == 0);
        CHECK(transport.wait_interrupt(1, 1us));
        CHECK_FALSE(transport.wait_interrupt(1, 1us));

        // The function mask holds all of them back.
        const auto msix = std::uint16_t{0x9c + 2};
        transport.config_write(msix, 2, 0xc000);
        card.interrupts().raise(0, {});
        card.interrupts().raise(0, {});
        CHECK(read32(transport, 0, 0x3000) == 1);
        transport.config_write(msix, 2, 0x8000);
        CHECK(read32(transport, 0, 0x3000) == 0);
        CHECK(transport.wait_interrupt(0, 1us));
        CHECK_FALSE(transport.wait_interrupt(0, 1us)); // two raises of a pending vector are one message
        // The function's own registers begin right after the table.
        CHECK(machine.first.function.writes == 0);
    });

    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));

    REQUIRE(driver.is_finished());
}

namespace {
/// When a polling driver sees a byte that the card writes at 777 ns, asking for `at`.
Time time_of_sight(bool timed, Time at) {
    PcieMachine machine(timed);
    std::optional<platform::host::Memory::Block> block;
    Time seen{};
    Thread driver("driver", [&] {
        InProcessTransport transport(machine.host, machine.found(1).bdf);
        machine.enable_master(1);
        block = machine.host.memory().allocate(4096);
        while (block->data[0] == std::byte{})
            transport.relax();
        seen = transport.now();
    });
    Later card("card", 777ns, [&] {
        const std::array one{std::byte{1}};
        machine.first.endpoint.dma().write(abi::BusAddress{block->bus}, one, at);
        CHECK((block->data[0] == std::byte{1}) == !timed);
        std::array<std::byte, 1> back{};
        if (at < Time{2us})
            return;
        machine.first.endpoint.dma().read(abi::BusAddress{block->bus}, back, at); // the device sees its own write
        CHECK(back == one);
    });
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
    REQUIRE(driver.is_finished());
    return seen;
}
} // namespace

TEST_CASE("a polling driver sees a device write at once where links take no time", "[module][bridge]") {
    CHECK(time_of_sight(false, 777ns) == Time{777ns});
}

TEST_CASE("a polling driver sees a device write when it has crossed the links", "[module][bridge][timed]") {
    const auto seen = time_of_sight(true, 1500ns);
    CHECK(seen >= Time{1700ns}); // two links of 100 ns
    CHECK(seen < Time{1710ns});
}

TEST_CASE("a device reads its own write before the processor sees it", "[module][bridge][timed]") {
    CHECK(time_of_sight(true, 5us) >= Time{5200ns}); // reading it does not bring it into memory
}

TEST_CASE("a polling loop that sees nothing lets time pass", "[module][bridge]") {
    Driver driver(false, [](PcieMachine&, InProcessTransport& transport) {
        const auto start = transport.now();
        unsigned looks = 0;
        for (; transport.now() - start < 100us; ++looks)
            transport.relax();
        CHECK(looks < 200);
    });
    driver.run();
}

TEST_CASE("a register read of timed links makes the driver wait for its completion", "[module][bridge][timed]") {
    Driver driver(true, [](PcieMachine& machine, InProcessTransport& transport) {
        const auto start = transport.now();
        read32(transport, 0, 0);
        CHECK(transport.now() - start >= 400ns);
        const auto posted = transport.now();
        transport.mmio_write(0, 0x100, std::array{std::byte{1}, std::byte{}, std::byte{}, std::byte{}});
        CHECK(machine.first.function.writes != 0);
        CHECK(transport.now() == posted + platform::host::SoftwareConfig{}.store); // it does not wait for the device
        CHECK(machine.first.function.last_write >= Time{posted + 200ns});
    });
    driver.run();
}

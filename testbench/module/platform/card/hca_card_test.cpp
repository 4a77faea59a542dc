#include "platform/bridge/in_process.h"
#include "platform/card/hca_card.h"
#include "testbench/harness/pcie_bench.h"
#include "testbench/harness/test_ports.h"

#include "abi/layout.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace testbench;
using platform::bridge::InProcessTransport;
using platform::card::HcaCard;

namespace {

model::hca::HcaConfig card_config(bool is_ethernet = true) {
    model::hca::HcaConfig config;
    config.timed = false;
    config.is_ethernet = is_ethernet;
    return config;
}
model::net::LinkConfig cable_config() {
    model::net::LinkConfig config;
    config.timed = false;
    return config;
}
platform::card::SlotConfig slot_config() {
    platform::card::SlotConfig config;
    config.link.timed = false;
    return config;
}

/// Two cards in one host, on one cable, and the driver of the first as a thread.
struct Machine {
    harness::EventLog log;
    model::net::LinkModule cable{"cable", cable_config(), {}};
    platform::host::Host host{"host", host_config()};
    HcaCard first, second;
    std::function<void(Machine&, InProcessTransport&)> body;
    Thread thread;

    explicit Machine(std::function<void(Machine&, InProcessTransport&)> what,
                     model::hca::HcaConfig config = card_config())
        : first("first", config, slot_config(), cable, 0, {&log, 1}, {&log, 2}),
          second("second", config, slot_config(), cable, 1, {}, {}), body(std::move(what)), thread("driver", [this] {
              InProcessTransport transport(host, host.enumeration().find(0x15b3, 0x101b)->bdf);
              body(*this, transport);
          }) {
        host.plug(0, first.endpoint);
        host.plug(1, second.endpoint);
    }
    static platform::host::HostConfig host_config() {
        platform::host::HostConfig config;
        config.timed = false;
        return config;
    }
    void run() {
        sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_MS));
        REQUIRE(thread.is_finished());
    }
};

std::uint32_t read32(InProcessTransport& transport, std::uint64_t offset) {
    std::array<std::byte, 4> bytes{};
    transport.mmio_read(0, offset, bytes);
    return abi::load<std::uint32_t, std::endian::big>(bytes.data());
}

} // namespace

TEST_CASE("an HCA is a network controller of its kind with one BAR for everything", "[module][card]") {
    const auto ethernet = HcaCard::function_config(card_config(true), slot_config());
    const auto infiniband = HcaCard::function_config(card_config(false), slot_config());

    CHECK(ethernet.identity.vendor_id == 0x15b3);
    CHECK(ethernet.identity.device_id == 0x101b);
    CHECK(ethernet.identity.class_code == 0x020000);
    CHECK(infiniband.identity.class_code == 0x020700);
    CHECK(ethernet.bars[0].size == 1024 * 4096);
    CHECK(ethernet.bars[0].is_64bit);
    CHECK(model::pcie::find_fault(ethernet) == nullptr);
}

TEST_CASE("the pending bits lie behind the vector table, however long it is", "[module][card]") {
    for (const std::uint16_t vectors : {1, 2, 256, 257, 512, 2048}) {
        auto config = card_config();
        config.msix_vectors = vectors;
        const auto function = HcaCard::function_config(config, slot_config());

        CHECK(function.msix_table_offset == 0x2000);
        CHECK(function.msix_pending_offset >= 0x2000 + vectors * 16u);
        CHECK(function.msix_pending_offset + vectors / 8 < config.first_uar * 4096u);
        CHECK(model::pcie::find_fault(function) == nullptr);
    }
}

TEST_CASE("the BAR begins with the initialization segment, and its UAR pages read zero", "[module][card]") {
    Machine machine([](Machine&, InProcessTransport& transport) {
        CHECK(read32(transport, 0x004) >> 16 == 5);
        CHECK((read32(transport, 0x014) & 0xff) == 0x56);
        CHECK(read32(transport, 16 * 4096 + 0x800) == 0);
        CHECK(read32(transport, 1023 * 4096) == 0);
    });
    machine.run();
}

TEST_CASE("configuration space leads to the initialization segment too", "[module][card]") {
    Machine machine([](Machine&, InProcessTransport& transport) {
        const auto expected = read32(transport, 0x230); // firmware version in the health buffer
        transport.config_write(0xc4, 4, 2);
        transport.config_write(0xd0, 4, 0x230);

        CHECK(transport.config_read(0xc0, 1) == 0x09);
        CHECK(transport.config_read(0xd0, 4) == 0x8000'0230);
        CHECK(transport.config_read(0xd4, 4) == expected);
    });
    machine.run();
}

TEST_CASE("a store that runs over the end of a UAR page rings that page's register and no other", "[module][card]") {
    Machine machine([](Machine& m, InProcessTransport&) {
        const auto bar = m.host.enumeration().find(0x15b3, 0x101b)->bars[0].address;
        const std::array<std::byte, 0x200> burst{}; // 0x100 bytes in UAR 16, as many in UAR 17
        m.host.root_complex().processor().write(abi::BusAddress{bar + 16 * 4096 + 0xf00}, burst, {});
    });
    machine.run();

    const auto ignored = machine.log.all<traces::DoorbellIgnored>();
    REQUIRE(ignored.size() == 1);
    CHECK(ignored[0].uar == 16);
    CHECK(ignored[0].reason == "no such queue pair");
}

TEST_CASE("a command travels over the bus: entry by DMA, doorbell by MMIO, answer by DMA", "[module][card]") {
    Machine machine([](Machine& m, InProcessTransport& transport) {
        transport.config_write(4, 2, 6); // memory space, bus master
        auto memory = transport.allocate(4096);
        REQUIRE(memory.has_value());
        auto* entry = memory->data;
        entry[0] = std::byte{7};
        entry[7] = std::byte{16};   // input length
        entry[0x10] = std::byte{1}; // ENABLE_HCA
        entry[0x11] = std::byte{4};
        entry[0x3b] = std::byte{12}; // output length
        entry[0x3f] = std::byte{1};
        std::array<std::byte, 8> address;
        abi::store<std::uint64_t, std::endian::big>(address.data(), memory->bus);
        transport.mmio_write(0, 0x10, address);
        transport.mmio_write(0, 0x18, std::array{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{1}});

        CHECK(entry[0x3f] == std::byte{0});
        CHECK(entry[0x20] == std::byte{0});
        CHECK(m.first.firmware().state().phase() == firmware::Phase::enabled);
        CHECK(m.second.firmware().state().phase() == firmware::Phase::disabled);
        transport.release(*memory);
    });
    machine.run();
}

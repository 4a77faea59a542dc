#include "platform/bridge/in_process.h"
#include "platform/card/hca_card.h"
#include "testbench/harness/pcie_bench.h"
#include "testbench/harness/plain_frames.h"
#include "testbench/harness/test_ports.h"

#include "abi/layout.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace testbench;
using platform::bridge::InProcessTransport;
using platform::card::HcaCard;

namespace {

model::hca::HcaConfig card_config() {
    model::hca::HcaConfig config;
    config.timed = false;
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

TEST_CASE("a card counts the plain frames of its cable, and goes on", "[module][card][plain frame]") {
    Machine machine([](Machine& m, InProcessTransport& transport) {
        auto& cable = m.cable.link();
        for (const auto& [name, bytes] : testbench::plain_frames()) {
            auto& packet = cable.end(1).next();
            packet.become_plain_frame();
            packet.payload.append_copy(bytes);
            cable.end(1).send(model::tlm::kernel_now());
        }
        m.cable.flush();

        const auto count = testbench::plain_frames().size();
        CHECK(cable.counters(1).delivered == count);
        CHECK(m.first.hca().counters().frames_without_receiver == count);
        CHECK(m.second.hca().counters().frames_without_receiver == 0);
        const auto dropped = m.log.all<traces::FrameDropped>();
        REQUIRE(dropped.size() == count);
        CHECK(dropped[0].ethertype == 0x0806);
        CHECK(read32(transport, 0x230) != 0);
    });
    machine.run();
}

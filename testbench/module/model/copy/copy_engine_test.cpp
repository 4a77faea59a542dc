// The copy engine as a card: found by its kind's name, driven over the bus.
#include "model/copy/copy_engine.h"
#include "platform/bridge/in_process.h"
#include "platform/card/card_module.h"
#include "testbench/harness/pcie_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace testbench;
using namespace model::copy;
using platform::bridge::InProcessTransport;
using platform::card::DeviceConfig;
using namespace std::chrono_literals;

namespace {
template <abi::Name Row> void set(InProcessTransport& transport, typename Registers::field<Row>::type value) {
    abi::Block<Registers> block;
    block.view().set<Row>(value);
    using Field = Registers::field<Row>;
    transport.mmio_write(0, Field::offset, std::span(block.bytes).subspan(Field::offset, Field::bytes));
}
} // namespace

TEST_CASE("a card of the kind \"copy\" copies host memory over the bus and interrupts when it has", "[module][copy]") {
    const auto* kind = platform::card::find_kind("copy");
    REQUIRE(kind != nullptr);
    platform::host::Host host("host", {});
    platform::card::CardModule card("copy", DeviceConfig(*kind), {});
    host.plug(0, card.endpoint);
    Thread thread("driver", [&] {
        InProcessTransport transport(host, host.enumeration().find(0x1234, 0xc0b1)->bdf);
        transport.config_write(4, 2, 6); // memory space, bus master
        REQUIRE(transport.enable_interrupts(1).has_value());
        auto memory = transport.allocate(1 << 16);
        REQUIRE(memory.has_value());
        const std::span bytes(memory->data, 1 << 16);
        for (std::size_t i = 0; i < 20000; ++i)
            bytes[i] = static_cast<std::byte>(i * 5);

        set<"source">(transport, memory->bus);
        set<"destination">(transport, memory->bus + 0x8000);
        set<"length">(transport, 20000);
        set<"doorbell">(transport, 1);
        CHECK_FALSE(card.is_quiet());

        CHECK(transport.wait_interrupt(copy_ended, 1ms));
        CHECK(std::ranges::equal(bytes.first(20000), bytes.subspan(0x8000, 20000)));
        CHECK(bytes[0x8000 + 20000] == std::byte{});
        CHECK(card.is_quiet());
        transport.release(*memory);
    });

    sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_MS));

    CHECK(thread.is_finished());
}

// What it takes to put modules of others into a platform of ours: two devices, two binds.
#include "testbench/module/model/tlm/base_protocol/third_party_initiator.h"
#include "testbench/module/model/tlm/base_protocol/third_party_target.h"

#include "testbench/module/model/tlm/base_protocol/bench.h"

#include <algorithm>
#include <numeric>

using namespace testbench;
using model::pcie::Direction;

TEST_CASE("an initiator and a target of others move bytes through the switch", "[module][tlm]") {
    platform::host::Host host("host", {.timed = true});
    third_party::Copier copier("copier");
    third_party::Memory memory("memory", 0x10000);
    DeviceModule<> source("source", {.function = foreign_function(1, 0)});
    DeviceModule<> sink("sink", {.function = foreign_function(2, 0x10000)});
    copier.socket.bind(source.dma());
    sink.bar.bind(memory.socket);
    host.plug(0, source.endpoint);
    host.plug(1, sink.endpoint);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    host.root_complex().config_write(host.enumeration().find(0x1234, 1)->bdf, 4, 2, 6, {}); // bus master enable
    const auto bar = host.enumeration().find(0x1234, 2)->bars[0].address;
    std::iota(memory.bytes.begin(), memory.bytes.begin() + 1000, static_cast<unsigned char>(3));
    const auto above = host.upstream_link()->traffic(Direction::upstream);
    const auto sent = host.slot_link(0)->traffic(Direction::upstream);

    copier.from = bar, copier.to = bar + 0x5001, copier.length = 1000;
    copier.start.notify(sc_core::SC_ZERO_TIME);
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));

    CHECK(copier.errors == 0);
    CHECK(std::equal(memory.bytes.begin(), memory.bytes.begin() + 1000, memory.bytes.begin() + 0x5001));
    CHECK(memory.bytes[0x5000] == 0);
    CHECK(memory.bytes[0x5001 + 1000] == 0);
    CHECK(host.upstream_link()->traffic(Direction::upstream) == above);           // between two devices of one switch
    CHECK(source.endpoint.volume(model::pcie::TargetKind::peer).total() == 2000); // each byte read, and written
    CHECK(host.slot_link(0)->traffic(Direction::upstream).payload_bytes == sent.payload_bytes + 1000);
}

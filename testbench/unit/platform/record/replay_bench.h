// A recording of one device with a network port in memory, and the way to play it.
#pragma once

#include "platform/record/replay.h"

#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <string>

namespace replay_bench {

using namespace platform::record;
using trace_bench::Bytes;
using trace_bench::MemoryDestination;
using trace_bench::MemorySource;
namespace codec = traces::codec;
namespace port = model::port;

inline const DeviceInterfaces one_port{.functions = {0}, .ports = {{1, port::Encapsulation::roce_v2_ipv4}}};

struct Recording {
    MemoryDestination destination;
    codec::Writer writer{
        destination,
        {.identity = {.revision = "test"},
         .configuration = {},
         .names = {},
         .interfaces = {{codec::InterfaceKind::pcie, "device"}, {codec::InterfaceKind::ethernet, "device.port"}}},
        {}};
    Journal journal{writer};
    Boundary boundary{journal, one_port};
    Bytes bytes() {
        REQUIRE(writer.close());
        return destination.bytes;
    }
};

/// Plays `trace` on what `make` makes of the ports.
template <class Make> Replay::Result play(const Bytes& trace, Make&& make, Replay::Mode mode = Replay::Mode::strict) {
    MemorySource source(trace);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    Replay replay(reader, one_port, mode);
    auto device = make(replay.ports());
    return replay.run(*device);
}
inline std::string why(const Replay::Result& result) {
    return result.divergence ? result.divergence->text() : result.fault ? result.fault->text() : std::string();
}

} // namespace replay_bench

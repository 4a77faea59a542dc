// A recording of two HCAs that has its platform's configuration in it, as the program would record it.
#pragma once

#include "platform/topology/description.h"
#include "platform/topology/device_config.h"
#include "platform/topology/keys.h"
#include "platform/topology/read.h"
#include "testbench/hcasim/replay_report.h"
#include "testbench/unit/platform/record/hca_session.h"

namespace hcasim_replay {

using namespace hca_session;
using namespace hcasim;
using trace_bench::Bytes;
using trace_bench::MemorySource;

inline platform::topology::Config configuration(std::vector<std::string> overrides = {}) {
    auto config = platform::topology::parse_config("", "test", overrides);
    if (!config)
        FAIL(config.error());
    return *config;
}
inline HcaConfig hca_of(const platform::topology::Config& config, std::string_view name) {
    const auto description = platform::topology::describe(config).value();
    return platform::topology::device_config(config, description.part(*description.find(name))).as<HcaConfig>();
}
/// A session of the default platform, with `text` in the place of its configuration.
inline Bytes recorded_with(const std::string& text, std::uint32_t bytes = 20'000) {
    const auto config = configuration();
    hca_session::Recording recording(text);
    session(hca_of(config, "A.hca"), hca_of(config, "B.hca"), &recording, bytes);
    REQUIRE(recording.writer.close());
    return recording.destination.bytes;
}
inline const Bytes& recorded() {
    static const auto trace = recorded_with(platform::topology::print_toml(configuration()));
    return trace;
}

inline codec::Head head_of(const Bytes& trace) {
    MemorySource source(trace);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    return reader.head();
}
inline ReplayBench bench_of(const Bytes& trace, std::vector<std::string> overrides = {}) {
    auto bench = read_bench(head_of(trace), "trace", overrides, {});
    if (!bench)
        FAIL(bench.error());
    return std::move(*bench);
}
inline Replay::Result played(const Bytes& trace, const RecordedPart& part, ReplayMode mode = ReplayMode::strict,
                             const MakeRecorded& make = make_recorded) {
    MemorySource source(trace);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    return play(reader, part, mode, make);
}
inline traces::tool::OpenTrace opened(const Bytes& trace) {
    return [&trace]() -> std::expected<std::unique_ptr<codec::Source>, std::string> {
        return std::make_unique<MemorySource>(trace);
    };
}

} // namespace hcasim_replay

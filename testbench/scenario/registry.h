// The workloads by the name that a configuration's [scenario] gives them: drivers on a platform, run by the program and
// by tests. A new one is a function and a row of the table in registry.cpp.
#pragma once

#include "platform/observe/event.h"
#include "platform/observe/files/capture.h"
#include "platform/topology/config.h"
#include "testbench/scenario/payload_source.h"
#include "testbench/scenario/result.h"
#include "testbench/scenario/stop.h"
#include "traces/events.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace platform::record {
class Recording;
}

namespace platform::ranks {
class Exchange;
}

namespace scenario {

/// What a workload is given. It builds its platform from `config`, once: SystemC elaborates once in a process.
struct Context {
    const platform::topology::Config& config;
    const PayloadSource& payload;
    platform::observe::Sources& sources; ///< where components register their names ("A.hca", "B.switch", "cable")
    traces::Sink* events = nullptr;      ///< nullptr: nobody listens
    platform::observe::files::Capture* capture = nullptr; ///< nullptr: nobody captures the wire
    platform::record::Recording* recording = nullptr;     ///< nullptr: no device is recorded
    Stop* stop = nullptr;                                 ///< nullptr: nobody ends the run before its end
    platform::ranks::Exchange* exchange = nullptr;        ///< nullptr: the whole run is in this process
    /// Told now and then: what is going on, and how many bytes of how many are done. May be empty.
    std::function<void(std::string_view what, std::uint64_t done, std::uint64_t total)> progress{};

    void tell(std::string_view what, std::uint64_t done, std::uint64_t total) const {
        if (progress)
            progress(what, done, total);
    }
};

/// The error is one line for a person: the configuration cannot carry this workload ("the payload, 3 GiB, does not fit
/// into gpu.vram = 2 GiB"). What goes wrong inside the simulation is in the result.
using Run = std::expected<Result, std::string> (*)(const Context&);

struct Scenario {
    std::string_view name, summary;
    Run run;
    /// Whether the configuration can carry it, and a payload of so many bytes; nullptr: always.
    std::expected<void, std::string> (*fits)(const platform::topology::Config&, std::uint64_t payload_bytes) = nullptr;
    bool moves_payload = true;        ///< a file; false: bytes of its own
    bool runs_on_every_model = false; ///< of HCAs; false: where it uses one, that is of hca.model = connectx
    bool runs_in_processes = false;   ///< hosts may be spread over several (Context::exchange)
    bool uses_wire = true;            ///< an HCA's; false: nothing leaves a host
};

/// Whether the configuration can carry the scenario, and a payload of so many bytes. The error is one line.
std::expected<void, std::string> look_at(const Scenario& scenario, const platform::topology::Config& config,
                                         std::uint64_t payload_bytes);

std::span<const Scenario> scenarios();
/// nullptr when there is none of that name.
const Scenario* find_scenario(std::string_view name);

} // namespace scenario

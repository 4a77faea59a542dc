// What a workload is given: the configuration, the payload, who listens, and who may end it.
#pragma once

#include "platform/observe/event.h"
#include "platform/observe/files/capture.h"
#include "platform/topology/config.h"
#include "testbench/scenario/payload_source.h"
#include "testbench/scenario/result.h"
#include "testbench/scenario/stop.h"
#include "traces/events.h"

#include <cstdint>
#include <functional>
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

} // namespace scenario

// A platform of its own for one run of a race, with a program on it and a log of its events.
#pragma once

#include "platform/observe/event.h"
#include "platform/topology/platform_module.h"
#include "testbench/harness/test_ports.h"
#include "testbench/scenario/race.h"

#include <functional>

namespace scenario::race {

/// Where a race is: all of it outlives the program.
struct Ground {
    platform::topology::Platform& platform;
    const platform::observe::Sources& sources;
    harness::EventLog& log;
    /// The first one, on which races of one host are.
    platform::topology::Machine& machine() const { return platform.machines().front(); }
};

/// Builds the platform, once in a process, and runs `race` as a thread of the simulation until it returns. What it
/// throws is a violation.
Outcome run_on_platform(const platform::topology::Config& config, platform::record::Recording* recording,
                        const std::function<void(const Ground& ground, Outcome& outcome)>& race);

} // namespace scenario::race

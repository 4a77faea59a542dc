// What a run says to a person, and to a program as JSON. Pure: values in, text out.
#pragma once

#include "platform/observe/counters.h"
#include "platform/observe/life.h"
#include "platform/topology/config.h"
#include "testbench/scenario/result.h"

#include <string>

namespace hcasim {

/// The platform as a picture: hosts, links, cable.
std::string print_topology(const platform::topology::Config& config);

/// The stages of the first WRITE with simulated times; says so when there was none.
std::string print_life(const platform::observe::Life& life, const platform::observe::Sources& sources);

/// The steps of a scenario that has some: what became of each, and the ways of its bytes.
std::string print_steps(const scenario::Result& result);

/// Steps or transfers, wire, PCIe links, caches, totals.
std::string print_result(const scenario::Result& result);

/// One JSON object: the result's keys, the counts of events by type and reason, the effective configuration.
std::string print_json(const scenario::Result& result, const platform::observe::Counters& counters,
                       const platform::topology::Config& config);

} // namespace hcasim

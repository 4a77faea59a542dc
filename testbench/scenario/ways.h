// How devices of a host reach each other, in words for a person: what the driver decided by what enumeration found, and
// what to change where they do not.
#pragma once

#include "platform/topology/description.h"
#include "sw/memory/peer_route.h"
#include "testbench/scenario/result.h"

#include <string>

namespace scenario {

/// "straight through the switch: ..."
std::string describe(sw::memory::PeerRoute route, const platform::topology::Config& config);
/// What to do about a run that failed or was stopped: what of the configuration explains it, else where to look.
/// config: as the program has it whose words count (`seen_by`); platform: also what lies between the programs.
std::string advise(const platform::topology::Config& config, const platform::topology::Description& platform,
                   const Result& result);

} // namespace scenario

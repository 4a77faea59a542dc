// How devices of a host reach each other, in words for a person: what the driver decided by what enumeration found, and
// what to change where they do not.
#pragma once

#include "platform/topology/config.h"
#include "sw/memory/peer_route.h"

#include <string>

namespace scenario {

/// "straight through the switch: ..."
std::string describe(sw::memory::PeerRoute route, const platform::topology::Config& config);
/// What to change in a configuration under which the HCA's requests do not reach the GPU; empty where they do.
std::string advise(const platform::topology::Config& config);

} // namespace scenario

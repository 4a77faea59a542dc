// Whether what the BARs of a host's devices ask for fits into the windows of its root complex, before anything is
// built. A device without addresses would be there and not answer.
#pragma once

#include "platform/topology/description.h"

#include <vector>

namespace platform::topology {

/// A fault for each simulated host whose firmware will have no room. A served host's windows are its client's.
std::vector<Fault> without_addresses(const Description& platform);

} // namespace platform::topology

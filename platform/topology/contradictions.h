// Keys that contradict each other although each is in its range.
#pragma once

#include "platform/topology/config.h"

#include <string>
#include <vector>

namespace platform::topology {

/// A sentence for each. `config` may also stand for one part, with the keys of that part.
std::vector<std::string> contradictions(const Config& config);

} // namespace platform::topology

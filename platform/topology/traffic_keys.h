// The rows of [traffic] in the table of keys.
#pragma once

#include "platform/topology/keys.h"

#include <span>

namespace platform::topology {

std::span<const Key> traffic_keys();

} // namespace platform::topology

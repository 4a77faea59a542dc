// The rows of congestion control of an HCA in the table of keys.
#pragma once

#include "platform/topology/keys.h"

#include <span>

namespace platform::topology {

std::span<const Key> congestion_keys();

} // namespace platform::topology

// The rows of [collective], [kv], [storage] and [checkpoint] in the table of keys.
#pragma once

#include "platform/topology/keys.h"

#include <span>

namespace platform::topology {

std::span<const Key> workload_keys();

} // namespace platform::topology

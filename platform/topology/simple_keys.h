// The rows of [simple] in the table of keys: of HCAs whose hca.model is simple.
#pragma once

#include "platform/topology/keys.h"

#include <span>

namespace platform::topology {

std::span<const Key> simple_keys();

} // namespace platform::topology

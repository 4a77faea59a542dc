// The register PPCNT, a row of ACCESS_REG's table that has a room of its own beside the command that reads the same
// counters.
#pragma once

#include "firmware/refusal.h"
#include "firmware/state.h"

#include <cstddef>
#include <span>

namespace firmware::handlers {

/// Both buffers hold the whole register.
Reply read_port_counters(State& state, std::span<const std::byte> in, std::span<std::byte> out);

} // namespace firmware::handlers

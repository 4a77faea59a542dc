// Reads and writes for a debugger through the fabric: no time passes, nothing is counted, there are no side effects.
// Follows the direct path of the requester whose identity `as` carries, and keeps no path. Ends at a remapping unit,
// since that counts and records each translation. TLM-2.0 "Debug transport interface".
#pragma once

#include "model/tlm/extension.h"
#include "model/tlm/fabric.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace model::tlm {

/// Both return how many bytes, from `address` on, lie in plain memory or in a target that can be looked at.
std::size_t peek(Fabric& fabric, const Extension& as, std::uint64_t address, std::span<std::byte> into);
std::size_t poke(Fabric& fabric, const Extension& as, std::uint64_t address, std::span<const std::byte> from);

} // namespace model::tlm

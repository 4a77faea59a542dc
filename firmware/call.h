// One command being executed: what it brings beside its input and output structures, and which objects it may name. To
// a user context the objects of others do not exist (PRM "User context"): a number of theirs is refused as an unknown
// one.
#pragma once

#include "firmware/objects/registry.h"
#include "firmware/state.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace firmware {

using objects::Scope;

struct Call {
    abi::prm::Opcode opcode{};
    std::uint16_t op_mod = 0;
    model::port::Time at{};
    Scope scope;                     ///< which objects it may name, and whose are those it makes
    std::span<const std::byte> tail; ///< input behind the structure
    std::span<std::byte> out_tail;   ///< output behind the structure, zeroed
};

} // namespace firmware

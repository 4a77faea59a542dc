// The state transitions of a queue pair as one table (PRM "QP state transitions"; IBA 10.3.1): which command leads from
// which states where, which fields of the context it takes, and which more the driver may name in opt_param_mask.
#pragma once

#include "abi/prm/qp.h"

#include <cstdint>
#include <span>

namespace firmware {

/// Groups of context fields: the bits of opt_param_mask, and bits of our own for fields that mask does not know.
using Fields = std::uint32_t;

struct Transition {
    abi::prm::Opcode opcode;
    std::uint16_t from; ///< bit n: legal in state n
    abi::prm::QpState to;
    Fields mandatory; ///< always taken from the command
    Fields optional;  ///< taken when opt_param_mask says so
    constexpr bool is_legal_from(abi::prm::QpState state) const { return from >> static_cast<unsigned>(state) & 1; }
};

std::span<const Transition> transitions();
/// The row of a command that is in the table.
const Transition& transition(abi::prm::Opcode opcode);

/// Copies the fields of the groups in `fields` from one context into another.
void copy_fields(Fields fields, abi::ConstView<abi::prm::Qpc> from, abi::View<abi::prm::Qpc> to);

} // namespace firmware

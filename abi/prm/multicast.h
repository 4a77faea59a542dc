// Multicast groups (PRM "ATTACH_TO_MCG", "DETACH_FROM_MCG"): which queue pair receives what is sent to a group's GID.
// Witness: testbench/witness/prm_layouts.py (mlx5_ifc.h).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
using AttachToMcgIn = Layout<"attach_to_mcg_in", 0x20,
    Bits<"opcode",        0x00, 31, 16, Opcode>,
    Bits<"op_mod",        0x04, 15,  0>,
    Bits<"qpn",           0x08, 23,  0>,
    Raw <"multicast_gid", 0x10, 16>>;
using AttachToMcgOut = Layout<"attach_to_mcg_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using DetachFromMcgIn = Layout<"detach_from_mcg_in", 0x20,
    Bits<"opcode",        0x00, 31, 16, Opcode>,
    Bits<"op_mod",        0x04, 15,  0>,
    Bits<"qpn",           0x08, 23,  0>,
    Raw <"multicast_gid", 0x10, 16>>;
using DetachFromMcgOut = Layout<"detach_from_mcg_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
// clang-format on

} // namespace abi::prm

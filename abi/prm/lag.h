// Link aggregation (PRM "LAG context", QUERY_LAG): which ports of the card are used as one.
// Witness: testbench/witness/prm_layouts.py (linux/mlx5/mlx5_ifc.h).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
using Lagc = Layout<"lagc", 0x08,
    Bits<"fdb_selection_mode",  0x00, 31>,
    Bits<"port_select_mode",    0x00, 10,  8>,
    Bits<"lag_state",           0x00,  2,  0>,      // 0: every port for itself
    Bits<"active_port",         0x04, 19, 16>,
    Bits<"tx_remap_affinity_2", 0x04, 11,  8>,
    Bits<"tx_remap_affinity_1", 0x04,  3,  0>>;
using QueryLagIn = Layout<"query_lag_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>>;
using QueryLagOut = Layout<"query_lag_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    Sub <"ctx",      0x08, Lagc>>;
// clang-format on

} // namespace abi::prm

// Event queues (PRM "Event queue context"): the context and the commands. The addresses of the queue's pages follow
// CREATE_EQ at `CreateEqIn::size`. Entries are in eqe.h, the doorbells in doorbell.h.
// Witness: testbench/witness/prm_layouts.py (mlx5_ifc.h, pyverbs).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
using Eqc = Layout<"eqc", 0x40,
    Bits<"status",           0x00, 31, 28>,
    Bits<"ec",               0x00, 18>,
    Bits<"oi",               0x00, 17>,
    Bits<"st",               0x00, 11,  8>,
    Bits<"page_offset",      0x08, 11,  6>,
    Bits<"log_eq_size",      0x0c, 28, 24>,
    Bits<"uar_page",         0x0c, 23,  0>,
    Bits<"intr",             0x14, 11,  0>,
    Bits<"log_page_size",    0x18, 28, 24>,
    Bits<"consumer_counter", 0x28, 23,  0>,
    Bits<"producer_counter", 0x2c, 23,  0>>;

using CreateEqIn = Layout<"create_eq_in", 0x110,
    Bits<"opcode",               0x00, 31, 16, Opcode>,
    Bits<"op_mod",               0x04, 15,  0>,
    Sub <"eq_context_entry",     0x10, Eqc>,
    U64 <"event_bitmask",        0x58>,                 // bit n: events of type n, types 0..63
    Raw <"event_bitmask_255_64", 0x60, 24>>;            // the same for types that do not exist yet
using CreateEqOut = Layout<"create_eq_out", 0x10,
    Bits<"status",    0x00, 31, 24, Status>,
    U32 <"syndrome",  0x04>,
    Bits<"eq_number", 0x08,  7,  0>>;
using DestroyEqIn = Layout<"destroy_eq_in", 0x10,
    Bits<"opcode",    0x00, 31, 16, Opcode>,
    Bits<"op_mod",    0x04, 15,  0>,
    Bits<"eq_number", 0x08,  7,  0>>;
using DestroyEqOut = Layout<"destroy_eq_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using QueryEqIn = Layout<"query_eq_in", 0x10,
    Bits<"opcode",    0x00, 31, 16, Opcode>,
    Bits<"op_mod",    0x04, 15,  0>,
    Bits<"eq_number", 0x08,  7,  0>>;
using QueryEqOut = Layout<"query_eq_out", 0x110,
    Bits<"status",           0x00, 31, 24, Status>,
    U32 <"syndrome",         0x04>,
    Sub <"eq_context_entry", 0x10, Eqc>,
    U64 <"event_bitmask",    0x58>>;
// clang-format on

} // namespace abi::prm

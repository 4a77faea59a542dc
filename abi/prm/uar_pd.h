// Objects that are only a number (PRM "UAR", "Protection domain", "Transport domain", "XRC domain").
// Witness: testbench/witness/prm_layouts.py (linux/mlx5/mlx5_ifc.h; pyverbs for ALLOC_PD).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
using AllocUarIn = Layout<"alloc_uar_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>>;
using AllocUarOut = Layout<"alloc_uar_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    Bits<"uar",      0x08, 23,  0>>;
using DeallocUarIn = Layout<"dealloc_uar_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Bits<"uar",    0x08, 23,  0>>;
using DeallocUarOut = Layout<"dealloc_uar_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using AllocPdIn = Layout<"alloc_pd_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>>;
using AllocPdOut = Layout<"alloc_pd_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    Bits<"pd",       0x08, 23,  0>>;
using DeallocPdIn = Layout<"dealloc_pd_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Bits<"pd",     0x08, 23,  0>>;
using DeallocPdOut = Layout<"dealloc_pd_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using AllocTransportDomainIn = Layout<"alloc_transport_domain_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>>;
using AllocTransportDomainOut = Layout<"alloc_transport_domain_out", 0x10,
    Bits<"status",           0x00, 31, 24, Status>,
    U32 <"syndrome",         0x04>,
    Bits<"transport_domain", 0x08, 23,  0>>;
using DeallocTransportDomainIn = Layout<"dealloc_transport_domain_in", 0x10,
    Bits<"opcode",           0x00, 31, 16, Opcode>,
    Bits<"op_mod",           0x04, 15,  0>,
    Bits<"transport_domain", 0x08, 23,  0>>;
using DeallocTransportDomainOut = Layout<"dealloc_transport_domain_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using AllocXrcdIn = Layout<"alloc_xrcd_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>>;
using AllocXrcdOut = Layout<"alloc_xrcd_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    Bits<"xrcd",     0x08, 23,  0>>;
using DeallocXrcdIn = Layout<"dealloc_xrcd_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Bits<"xrcd",   0x08, 23,  0>>;
using DeallocXrcdOut = Layout<"dealloc_xrcd_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
// clang-format on

} // namespace abi::prm

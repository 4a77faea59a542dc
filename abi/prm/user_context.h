// User contexts and user memory (PRM "User context", "UMEM"): what a program that speaks to the device directly (DEVX)
// is known by, and the memory it hands over by number, since it may not name bus addresses. The translation entries of
// CREATE_UMEM follow at `CreateUmemIn::size`.
// Witness: testbench/witness/prm_layouts.py (mlx5_ifc.h).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

/// The uid of objects that every user context may name (MLX5_SHARED_RESOURCE_UID of the Linux driver).
inline constexpr std::uint16_t shared_uid = 0xffff;

// clang-format off
using Uctx = Layout<"uctx", 0x30,
    U32 <"cap", 0x00>>;                                     // bits of the capability uctx_cap
using CreateUctxIn = Layout<"create_uctx_in", 0x40,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Sub <"uctx",   0x10, Uctx>>;
using CreateUctxOut = Layout<"create_uctx_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    Bits<"uid",      0x08, 15,  0>>;
using DestroyUctxIn = Layout<"destroy_uctx_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Bits<"uid",    0x08, 15,  0>>;
using DestroyUctxOut = Layout<"destroy_uctx_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;

using Umem = Layout<"umem", 0x20,
    Bits<"ats",           0x10, 31>,
    Bits<"log_page_size", 0x10,  4,  0>,                    // pages of 2^(12 + n) bytes
    U32 <"page_offset",   0x14>,                            // of byte 0 in the first page, in bytes
    U64 <"num_of_mtt",    0x18>>;
using CreateUmemIn = Layout<"create_umem_in", 0x30,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"uid",    0x00, 15,  0>,
    Bits<"op_mod", 0x04, 15,  0>,
    Sub <"umem",   0x10, Umem>>;
using CreateUmemOut = Layout<"create_umem_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    Bits<"umem_id",  0x08, 23,  0>>;
using DestroyUmemIn = Layout<"destroy_umem_in", 0x10,
    Bits<"opcode",  0x00, 31, 16, Opcode>,
    Bits<"uid",     0x00, 15,  0>,
    Bits<"op_mod",  0x04, 15,  0>,
    Bits<"umem_id", 0x08, 23,  0>>;
using DestroyUmemOut = Layout<"destroy_umem_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
// clang-format on

} // namespace abi::prm

// Shared receive queues of an XRC domain (PRM "XRC SRQ context"): the context and the commands. The addresses of the
// queue's pages follow CREATE_XRC_SRQ at `CreateXrcSrqIn::size`.
// Witness: testbench/witness/prm_layouts.py (linux/mlx5/mlx5_ifc.h).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

/// `state`.
enum class XrcSrqState : std::uint8_t { good = 0, error = 1 };

// clang-format off
using XrcSrqc = Layout<"xrc_srqc", 0x40,
    Bits<"state",                     0x00, 31, 28, XrcSrqState>,
    Bits<"log_xrc_srq_size",          0x00, 27, 24>,
    Bits<"wq_signature",              0x04, 31>,
    Bits<"cont_srq",                  0x04, 30>,
    Bits<"rlky",                      0x04, 28>,
    Bits<"basic_cyclic_rcv_wqe",      0x04, 27>,
    Bits<"log_rq_stride",             0x04, 26, 24>,
    Bits<"xrcd",                      0x04, 23,  0>,
    Bits<"page_offset",               0x08, 31, 26>,
    Bits<"dbr_umem_valid",            0x08, 24>,
    Bits<"cqn",                       0x08, 23,  0>,
    Bits<"user_index_equal_xrc_srqn", 0x10, 31>,
    Bits<"log_page_size",             0x10, 29, 24>,
    Bits<"user_index",                0x10, 23,  0>,
    Bits<"pd",                        0x18, 23,  0>,
    Bits<"lwm",                       0x1c, 31, 16>,
    Bits<"wqe_cnt",                   0x1c, 15,  0>,
    U32 <"db_record_addr_h",          0x28>,
    Bits<"db_record_addr_l",          0x2c, 31,  2>>;
using CreateXrcSrqIn = Layout<"create_xrc_srq_in", 0x110,
    Bits<"opcode",                0x00, 31, 16, Opcode>,
    Bits<"op_mod",                0x04, 15,  0>,
    Sub <"xrc_srq_context_entry", 0x10, XrcSrqc>,
    Bits<"xrc_srq_umem_valid",    0x5c, 31>>;
using CreateXrcSrqOut = Layout<"create_xrc_srq_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    Bits<"xrc_srqn", 0x08, 23,  0>>;
using DestroyXrcSrqIn = Layout<"destroy_xrc_srq_in", 0x10,
    Bits<"opcode",   0x00, 31, 16, Opcode>,
    Bits<"op_mod",   0x04, 15,  0>,
    Bits<"xrc_srqn", 0x08, 23,  0>>;
using DestroyXrcSrqOut = Layout<"destroy_xrc_srq_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using QueryXrcSrqIn = Layout<"query_xrc_srq_in", 0x10,
    Bits<"opcode",   0x00, 31, 16, Opcode>,
    Bits<"op_mod",   0x04, 15,  0>,
    Bits<"xrc_srqn", 0x08, 23,  0>>;
using QueryXrcSrqOut = Layout<"query_xrc_srq_out", 0x110,
    Bits<"status",                0x00, 31, 24, Status>,
    U32 <"syndrome",              0x04>,
    Sub <"xrc_srq_context_entry", 0x10, XrcSrqc>>;
using ArmXrcSrqIn = Layout<"arm_xrc_srq_in", 0x10,
    Bits<"opcode",   0x00, 31, 16, Opcode>,
    Bits<"op_mod",   0x04, 15,  0>,
    Bits<"xrc_srqn", 0x08, 23,  0>,
    Bits<"lwm",      0x0c, 15,  0>>;
using ArmXrcSrqOut = Layout<"arm_xrc_srq_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
// clang-format on

} // namespace abi::prm

// Work queues that stand alone (PRM "Work queue context") and the receive memory pool (PRM "RMP"), which is the shared
// receive queue of verbs. The addresses of the queue's pages follow CREATE_RMP at `CreateRmpIn::size`.
// Witness: testbench/witness/prm_layouts.py (linux/mlx5/mlx5_ifc.h).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

/// `wq_type`: how the device finds the next WQE.
enum class WqType : std::uint8_t { linked_list = 0, cyclic = 1, linked_list_striding = 2, cyclic_striding = 3 };
enum class RmpState : std::uint8_t { ready = 1, error = 3 };

// clang-format off
using Wq = Layout<"wq", 0xc0,
    Bits<"wq_type",                                0x00, 31, 28, WqType>,
    Bits<"wq_signature",                           0x00, 27>,
    Bits<"end_padding_mode",                       0x00, 26, 25>,
    Bits<"cd_slave",                               0x00, 24>,
    Bits<"hds_skip_first_sge",                     0x04, 31>,
    Bits<"log2_hds_buf_size",                      0x04, 30, 28>,
    Bits<"page_offset",                            0x04, 20, 16>,
    Bits<"lwm",                                    0x04, 15,  0>,
    Bits<"pd",                                     0x08, 23,  0>,
    Bits<"uar_page",                               0x0c, 23,  0>,
    U64 <"dbr_addr",                               0x10>,
    U32 <"hw_counter",                             0x18>,
    U32 <"sw_counter",                             0x1c>,
    Bits<"log_wq_stride",                          0x20, 19, 16>,
    Bits<"log_wq_pg_sz",                           0x20, 12,  8>,
    Bits<"log_wq_sz",                              0x20,  4,  0>,
    Bits<"dbr_umem_valid",                         0x24, 31>,
    Bits<"wq_umem_valid",                          0x24, 30>,
    Bits<"log_hairpin_num_packets",                0x24, 28, 24>,
    Bits<"log_hairpin_data_sz",                    0x24, 20, 16>,
    Bits<"log_wqe_num_of_strides",                 0x24, 11,  8>,
    Bits<"two_byte_shift_en",                      0x24,  7>,
    Bits<"log_wqe_stride_size",                    0x24,  2,  0>,
    U32 <"dbr_umem_id",                            0x28>,
    U32 <"wq_umem_id",                             0x2c>,
    U64 <"wq_umem_offset",                         0x30>,
    U32 <"headers_mkey",                           0x38>,
    Bits<"shampo_enable",                          0x3c, 31>,
    Bits<"log_reservation_size",                   0x3c, 26, 24>,
    Bits<"log_max_num_of_packets_per_reservation", 0x3c, 18, 16>,
    Bits<"log_headers_entry_size",                 0x3c,  9,  8>,
    Bits<"log_headers_buffer_entry_num",           0x3c,  3,  0>>;
using Rmpc = Layout<"rmpc", 0xf0,
    Bits<"state",                0x00, 23, 20, RmpState>,
    Bits<"basic_cyclic_rcv_wqe", 0x04, 31>,
    Sub <"wq",                   0x30, Wq>>;
using CreateRmpIn = Layout<"create_rmp_in", 0x110,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Sub <"ctx",    0x20, Rmpc>>;
using CreateRmpOut = Layout<"create_rmp_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    Bits<"rmpn",     0x08, 23,  0>>;
using DestroyRmpIn = Layout<"destroy_rmp_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Bits<"rmpn",   0x08, 23,  0>>;
using DestroyRmpOut = Layout<"destroy_rmp_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using QueryRmpIn = Layout<"query_rmp_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Bits<"rmpn",   0x08, 23,  0>>;
using QueryRmpOut = Layout<"query_rmp_out", 0x110,
    Bits<"status",      0x00, 31, 24, Status>,
    U32 <"syndrome",    0x04>,
    Sub <"rmp_context", 0x20, Rmpc>>;
/// Which fields MODIFY_RMP takes over.
using RmpBitmask = Layout<"rmp_bitmask", 0x08,
    Bits<"lwm", 0x04,  0>>;
using ModifyRmpIn = Layout<"modify_rmp_in", 0x110,
    Bits<"opcode",    0x00, 31, 16, Opcode>,
    Bits<"op_mod",    0x04, 15,  0>,
    Bits<"rmp_state", 0x08, 31, 28, RmpState>,
    Bits<"rmpn",      0x08, 23,  0>,
    Sub <"bitmask",   0x10, RmpBitmask>,
    Sub <"ctx",       0x20, Rmpc>>;
using ModifyRmpOut = Layout<"modify_rmp_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
// clang-format on

} // namespace abi::prm

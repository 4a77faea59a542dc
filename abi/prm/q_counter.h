// Counter sets of queue pairs (PRM "Q counters").
// Witness: testbench/witness/prm_layouts.py (linux/mlx5/mlx5_ifc.h).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
using AllocQCounterIn = Layout<"alloc_q_counter_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>>;
using AllocQCounterOut = Layout<"alloc_q_counter_out", 0x10,
    Bits<"status",         0x00, 31, 24, Status>,
    U32 <"syndrome",       0x04>,
    Bits<"counter_set_id", 0x08,  7,  0>>;
using DeallocQCounterIn = Layout<"dealloc_q_counter_in", 0x10,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Bits<"counter_set_id", 0x08,  7,  0>>;
using DeallocQCounterOut = Layout<"dealloc_q_counter_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using QueryQCounterIn = Layout<"query_q_counter_in", 0x20,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Bits<"other_vport",    0x08, 31>,
    Bits<"vport_number",   0x08, 15,  0>,
    Bits<"clear",          0x18, 31>,
    Bits<"aggregate",      0x18, 30>,
    Bits<"counter_set_id", 0x1c,  7,  0>>;
using QueryQCounterOut = Layout<"query_q_counter_out", 0x100,
    Bits<"status",                         0x00, 31, 24, Status>,
    U32 <"syndrome",                       0x04>,
    U32 <"rx_write_requests",              0x10>,
    U32 <"rx_read_requests",               0x18>,
    U32 <"rx_atomic_requests",             0x20>,
    U32 <"rx_dct_connect",                 0x28>,
    U32 <"out_of_buffer",                  0x30>,
    U32 <"out_of_sequence",                0x38>,
    U32 <"duplicate_request",              0x40>,
    U32 <"rnr_nak_retry_err",              0x48>,
    U32 <"packet_seq_err",                 0x50>,
    U32 <"implied_nak_seq_err",            0x58>,
    U32 <"local_ack_timeout_err",          0x60>,
    U32 <"req_rnr_retries_exceeded",       0x70>,
    U32 <"resp_local_length_error",        0x78>,
    U32 <"req_local_length_error",         0x7c>,
    U32 <"resp_local_qp_error",            0x80>,
    U32 <"local_operation_error",          0x84>,
    U32 <"resp_local_protection",          0x88>,
    U32 <"req_local_protection",           0x8c>,
    U32 <"resp_cqe_error",                 0x90>,
    U32 <"req_cqe_error",                  0x94>,
    U32 <"req_mw_binding",                 0x98>,
    U32 <"req_bad_response",               0x9c>,
    U32 <"req_remote_invalid_request",     0xa0>,
    U32 <"resp_remote_invalid_request",    0xa4>,
    U32 <"req_remote_access_errors",       0xa8>,
    U32 <"resp_remote_access_errors",      0xac>,
    U32 <"req_remote_operation_errors",    0xb0>,
    U32 <"req_transport_retries_exceeded", 0xb4>,
    U32 <"cq_overflow",                    0xb8>,
    U32 <"resp_cqe_flush_error",           0xbc>,
    U32 <"req_cqe_flush_error",            0xc0>,
    U32 <"roce_adp_retrans",               0xc8>,
    U32 <"roce_adp_retrans_to",            0xcc>,
    U32 <"roce_slow_restart",              0xd0>,
    U32 <"roce_slow_restart_cnps",         0xd4>,
    U32 <"roce_slow_restart_trans",        0xd8>>;
// clang-format on

} // namespace abi::prm

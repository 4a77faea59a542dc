// Completion queues (PRM "Completion queue context"): the context and the commands. The addresses of the queue's pages
// follow CREATE_CQ at `CreateCqIn::size`. Entries are in cqe.h, doorbells and doorbell records in doorbell.h.
// Witness: testbench/witness/prm_layouts.py (mlx5_ifc.h, pyverbs).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
/// `cqe_sz`: bytes of an entry. In a 128-byte entry the CQE64 is the second half.
enum class CqeSize : std::uint8_t { bytes_64 = 0, bytes_128 = 1 };
/// `st`: what the queue waits for before it raises an event.
enum class CqState : std::uint8_t { solicited_armed = 6, armed = 9, fired = 0xa };
/// `status`: whether the queue still works.
enum class CqStatus : std::uint8_t { ok = 0, overflow = 9, write_fail = 0xa };

using Cqc = Layout<"cqc", 0x40,
    Bits<"status",                   0x00, 31, 28>,
    Bits<"dbr_umem_valid",           0x00, 25>,
    Bits<"apu_cq",                   0x00, 24>,
    Bits<"cqe_sz",                   0x00, 23, 21>,
    Bits<"cc",                       0x00, 20>,
    Bits<"scqe_break_moderation_en", 0x00, 18>,
    Bits<"oi",                       0x00, 17>,
    Bits<"cq_period_mode",           0x00, 16, 15>,
    Bits<"cqe_comp_en",              0x00, 14>,
    Bits<"mini_cqe_res_format",      0x00, 13, 12>,
    Bits<"st",                       0x00, 11,  8>,
    Bits<"cqe_compression_layout",   0x00,  1,  0>,
    U32 <"dbr_umem_id",              0x04>,
    Bits<"page_offset",              0x08, 11,  6>,
    Bits<"log_cq_size",              0x0c, 28, 24>,
    Bits<"uar_page",                 0x0c, 23,  0>,
    Bits<"cq_period",                0x10, 27, 16>,
    Bits<"cq_max_count",             0x10, 15,  0>,
    U32 <"c_eqn_or_apu_element",     0x14>,
    Bits<"log_page_size",            0x18, 28, 24>,
    Bits<"last_notified_index",      0x20, 23,  0>,
    Bits<"last_solicit_index",       0x24, 23,  0>,
    Bits<"consumer_counter",         0x28, 23,  0>,
    Bits<"producer_counter",         0x2c, 23,  0>,
    U64 <"dbr_addr",                 0x38>>;                // with dbr_umem_valid: bytes from the start of the UMEM

/// Bits of MODIFY_CQ's field select, op_mod 0.
enum class CqModify : std::uint32_t { period = 1u << 0, max_count = 1u << 1, overrun = 1u << 2 };
/// The same word of a MODIFY_CQ with op_mod 1.
enum class CqResize : std::uint32_t { log_size = 1u << 0, page_offset = 1u << 1, page_size = 1u << 2 };
inline constexpr std::uint16_t modify_cq_resize = 1; ///< op_mod

using CreateCqIn = Layout<"create_cq_in", 0x110,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Sub <"cq_context",     0x10, Cqc>,
    U64 <"cq_umem_offset", 0x50>,
    U32 <"cq_umem_id",     0x58>,
    Bits<"cq_umem_valid",  0x5c, 31>>;
using CreateCqOut = Layout<"create_cq_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    Bits<"cqn",      0x08, 23,  0>>;
using DestroyCqIn = Layout<"destroy_cq_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Bits<"cqn",    0x08, 23,  0>>;
using DestroyCqOut = Layout<"destroy_cq_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using QueryCqIn = Layout<"query_cq_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Bits<"cqn",    0x08, 23,  0>>;
using QueryCqOut = Layout<"query_cq_out", 0x110,
    Bits<"status",     0x00, 31, 24, Status>,
    U32 <"syndrome",   0x04>,
    Sub <"cq_context", 0x10, Cqc>>;
using ModifyCqIn = Layout<"modify_cq_in", 0x110,
    Bits<"opcode",        0x00, 31, 16, Opcode>,
    Bits<"op_mod",        0x04, 15,  0>,
    Bits<"cqn",           0x08, 23,  0>,
    U32 <"modify_field_select_resize_field_select", 0x0c>,
    Sub <"cq_context",    0x10, Cqc>,
    Bits<"cq_umem_valid", 0x5c, 31>>;
using ModifyCqOut = Layout<"modify_cq_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
// clang-format on

} // namespace abi::prm

// Work queue entries (PRM "WQE format"): the segments a send WQE is made of, in units of 16 bytes, and the segments of
// receive WQEs. Which segments follow which depends on the transport and the opcode; the reader in model/hca/queue
// knows. Witness: testbench/witness/mlx5dv_test.cpp (struct mlx5_wqe_*), prm_layouts.py (linux/mlx5/qp.h).
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

namespace abi::prm {

// clang-format off
#define ABI_PRM_WQE_OPCODES(X) \
    X(nop,              0x00, "NOP")              \
    X(send_inval,       0x01, "SEND_INVAL")       \
    X(rdma_write,       0x08, "RDMA_WRITE")       \
    X(rdma_write_imm,   0x09, "RDMA_WRITE_IMM")   \
    X(send,             0x0a, "SEND")             \
    X(send_imm,         0x0b, "SEND_IMM")         \
    X(lso,              0x0e, "LSO")              \
    X(rdma_read,        0x10, "RDMA_READ")        \
    X(atomic_cs,        0x11, "ATOMIC_CS")        \
    X(atomic_fa,        0x12, "ATOMIC_FA")        \
    X(atomic_masked_cs, 0x14, "ATOMIC_MASKED_CS") \
    X(atomic_masked_fa, 0x15, "ATOMIC_MASKED_FA") \
    X(bind_mw,          0x18, "BIND_MW")          \
    X(config_cmd,       0x1f, "CONFIG_CMD")       \
    X(set_psv,          0x20, "SET_PSV")          \
    X(get_psv,          0x21, "GET_PSV")          \
    X(check_psv,        0x22, "CHECK_PSV")        \
    X(dump,             0x23, "DUMP")             \
    X(umr,              0x25, "UMR")              \
    X(rget_psv,         0x26, "RGET_PSV")         \
    X(rcheck_psv,       0x27, "RCHECK_PSV")       \
    X(enhanced_mpsw,    0x29, "ENHANCED_MPSW")    \
    X(flow_tbl_access,  0x2c, "FLOW_TBL_ACCESS")  \
    X(access_aso,       0x2d, "ACCESS_ASO")
ABI_NAMED_ENUM(WqeOpcode, std::uint8_t, ABI_PRM_WQE_OPCODES)
#undef ABI_PRM_WQE_OPCODES

inline constexpr std::size_t wqe_bb_bytes = 64;   ///< basic block: send WQEs start on one and are counted in them
inline constexpr std::size_t wqe_ds_bytes = 16;   ///< unit of `ds`

/// `ce`: when a WQE writes a CQE.
enum class CompletionEvent : std::uint8_t { on_error = 0, on_first_error = 1, always = 2, always_with_event = 3 };
/// `fm`: what a WQE waits for before it starts.
enum class FenceMode : std::uint8_t {
    none = 0,
    initiator_small = 1,
    fence = 2,
    strong_ordering = 3,
    small_and_fence = 4
};

/// First segment of every send WQE.
using WqeCtrl = Layout<"wqe_ctrl_seg", 16,
    Bits<"opmod",                 0x00, 31, 24>,
    Bits<"wqe_index",             0x00, 23,  8>,             // in basic blocks, modulo 2^16
    Bits<"opcode",                0x00,  7,  0, WqeOpcode>,
    Bits<"qpn",                   0x04, 31,  8>,             // queue pair or send queue
    Bits<"ds",                    0x04,  5,  0>,             // whole WQE, in units of 16 bytes
    Bits<"signature",             0x08, 31, 24>,
    Bits<"dci_stream_channel_id", 0x08, 23,  8>,
    Bits<"fm",                    0x08,  7,  5, FenceMode>,
    Bits<"ce",                    0x08,  3,  2, CompletionEvent>,
    Bits<"se",                    0x08,  1>,
    U32 <"imm",                   0x0c>>;                    // immediate, key to invalidate, or key of a UMR

/// Remote address of WRITE, READ and atomics.
using WqeRaddr = Layout<"wqe_raddr_seg", 16,
    U64 <"raddr", 0x00>,
    U32 <"rkey",  0x08>>;

/// Operands of an atomic.
using WqeAtomic = Layout<"wqe_atomic_seg", 16,
    U64 <"swap_add", 0x00>,
    U64 <"compare",  0x08>>;

/// A piece of local memory; also the entries of a receive WQE.
using WqeData = Layout<"wqe_data_seg", 16,
    Bits<"inline",     0x00, 31>,                            // 1: this is a WqeInline
    Bits<"byte_count", 0x00, 30,  0>,
    U32 <"lkey",       0x04>,
    U64 <"addr",       0x08>>;

/// Head of inline data, which follows at once and is padded to 16 bytes.
using WqeInline = Layout<"wqe_inline_seg", 4,
    Bits<"inline",     0x00, 31>,
    Bits<"byte_count", 0x00,  9,  0>>;

/// Ethernet segment of raw-packet queues. Inline headers start at 0x0e and go on behind the segment.
using WqeEth = Layout<"wqe_eth_seg", 16,
    U8  <"swp_outer_l4_offset", 0x00>,
    U8  <"swp_outer_l3_offset", 0x01>,
    U8  <"swp_inner_l4_offset", 0x02>,
    U8  <"swp_inner_l3_offset", 0x03>,
    Bits<"l4_csum",             0x04, 31>,
    Bits<"l3_csum",             0x04, 30>,
    Bits<"l4_inner_csum",       0x04, 29>,
    Bits<"l3_inner_csum",       0x04, 28>,
    Bits<"swp_flags",           0x04, 23, 16>,
    Bits<"mss",                 0x04, 15,  0>,
    U32 <"flow_table_metadata", 0x08>,
    U16 <"inline_hdr_sz",       0x0c>,
    Raw <"inline_hdr_start",    0x0e, 2>>;

/// Address vector of a datagram.
using WqeAv = Layout<"wqe_av", 48,
    U32 <"q_key",          0x00>,
    Bits<"extended",       0x08, 31>,
    Bits<"dqp_dct",        0x08, 23,  0>,
    Bits<"stat_rate",      0x0c, 31, 28>,
    Bits<"sl",             0x0c, 27, 24>,
    Bits<"fl",             0x0c, 23>,
    Bits<"mlid",           0x0c, 22, 16>,
    Bits<"rlid",           0x0c, 15,  0>,                    // RoCE: UDP source port
    Raw <"rmac",           0x14, 6>,
    U8  <"tclass",         0x1a>,
    U8  <"hop_limit",      0x1b>,
    Bits<"grh",            0x1c, 30>,
    Bits<"src_addr_index", 0x1c, 27, 20>,
    Bits<"flow_label",     0x1c, 19,  0>,
    Raw <"rgid_rip",       0x20, 16>>;

/// First segment of a user-mode memory registration; an Mkc follows, then the translations or a WqeData to them.
using WqeUmrCtrl = Layout<"wqe_umr_ctrl_seg", 48,
    Bits<"inline",           0x00, 31>,                      // translations are in the WQE
    Bits<"check_free",       0x00, 30>,                      // refuse a key that is free
    Bits<"check_not_free",   0x00, 29>,                      // refuse a key that is not free
    Bits<"xlt_offset_en",    0x00, 28>,
    Bits<"check_qpn",        0x00, 27>,
    U16 <"xlt_octowords",    0x04>,
    U16 <"xlt_offset",       0x06>,                          // or bsf_octowords
    U64 <"mkey_mask",        0x08>,
    U32 <"xlt_offset_47_16", 0x10>>;

/// `mkey_mask` of a UMR: the fields of the key's context that it changes.
#define ABI_PRM_MKEY_MASKS(X) \
    X(len, 1ull << 0, "len") \
    X(page_size, 1ull << 1, "page_size") \
    X(start_addr, 1ull << 6, "start_addr") \
    X(pd, 1ull << 7, "pd") \
    X(en_rinval, 1ull << 8, "en_rinval") \
    X(en_sigerr, 1ull << 9, "en_sigerr") \
    X(bsf_en, 1ull << 12, "bsf_en") \
    X(key, 1ull << 13, "key") \
    X(qpn, 1ull << 14, "qpn") \
    X(lr, 1ull << 17, "lr") \
    X(lw, 1ull << 18, "lw") \
    X(rr, 1ull << 19, "rr") \
    X(rw, 1ull << 20, "rw") \
    X(a, 1ull << 21, "a") \
    X(small_fence, 1ull << 23, "small_fence") \
    X(relaxed_ordering_write, 1ull << 25, "relaxed_ordering_write") \
    X(free, 1ull << 29, "free") \
    X(page_size_5, 1ull << 42, "page_size_5") \
    X(relaxed_ordering_read, 1ull << 47, "relaxed_ordering_read")
ABI_NAMED_ENUM(MkeyMask, std::uint64_t, ABI_PRM_MKEY_MASKS)
#undef ABI_PRM_MKEY_MASKS

/// Names the shared receive queue of an XRC send.
using WqeXrc = Layout<"wqe_xrc_seg", 16,
    Bits<"xrc_srqn", 0x00, 23,  0>>;

/// Head of a shared receive queue's WQE: the list the device walks.
using WqeSrqNext = Layout<"wqe_srq_next_seg", 16,
    U16 <"next_wqe_index", 0x02>,
    U8  <"signature",      0x04>>;
// clang-format on

} // namespace abi::prm

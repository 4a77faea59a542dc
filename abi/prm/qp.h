// Queue pairs (PRM "Queue pair context", "Address path"): the contexts, the commands of every state transition, and the
// mask that says which optional fields a transition changes. The addresses of the queue's pages follow CREATE_QP at
// `CreateQpIn::size`, receive queue first.
// Witness: testbench/witness/prm_layouts.py (mlx5_ifc.h, pyverbs).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
/// `state` of a queue pair (IBA 10.3.1).
#define ABI_PRM_QP_STATES(X) \
    X(rst,         0, "RST")         \
    X(init,        1, "INIT")        \
    X(rtr,         2, "RTR")         \
    X(rts,         3, "RTS")         \
    X(sqer,        4, "SQER")        \
    X(sqd,         5, "SQD")         \
    X(err,         6, "ERR")         \
    X(sq_draining, 7, "SQ_DRAINING") \
    X(suspended,   9, "SUSPENDED")
ABI_NAMED_ENUM(QpState, std::uint8_t, ABI_PRM_QP_STATES)
#undef ABI_PRM_QP_STATES

/// `st`: transport service or special purpose of a queue pair.
#define ABI_PRM_QP_TYPES(X) \
    X(rc,      0x0, "RC")           \
    X(uc,      0x1, "UC")           \
    X(ud,      0x2, "UD")           \
    X(xrc,     0x3, "XRC")          \
    X(dci,     0x5, "DCI")          \
    X(qp0,     0x7, "QP0")          \
    X(qp1,     0x8, "QP1")          \
    X(raw,     0x9, "RAW_DATAGRAM") \
    X(reg_umr, 0xc, "REG_UMR")
ABI_NAMED_ENUM(QpType, std::uint8_t, ABI_PRM_QP_TYPES)
#undef ABI_PRM_QP_TYPES

/// `mtu`: path MTU (IBA encoding).
#define ABI_PRM_MTUS(X) \
    X(bytes_256,  1, "256")  \
    X(bytes_512,  2, "512")  \
    X(bytes_1024, 3, "1024") \
    X(bytes_2048, 4, "2048") \
    X(bytes_4096, 5, "4096")
ABI_NAMED_ENUM(Mtu, std::uint8_t, ABI_PRM_MTUS)
#undef ABI_PRM_MTUS

/// `pm_state`: automatic path migration.
enum class PathMigrationState : std::uint8_t { armed = 0, rearm = 1, migrated = 3 };
/// `rq_type`: where receive WQEs come from.
enum class ReceiveQueueType : std::uint8_t { regular = 0, srq = 1, none = 3 };
/// `atomic_mode`: how wide an atomic operation on this queue pair may be.
enum class AtomicMode : std::uint8_t { none = 0, ib_spec = 1, only_8b = 2, up_to_8b = 3, up_to_16b = 4 };
/// `cs_req`: how many bytes a READ or atomic may bring in its completion (scatter to CQE).
enum class RequesterScatter : std::uint8_t { disable = 0, up_to_32_bytes = 0x11, up_to_64_bytes = 0x22 };
/// `cs_res`: the same of a SEND that arrives.
enum class ResponderScatter : std::uint8_t { disable = 0, up_to_32_bytes = 1, up_to_64_bytes = 2 };

/// `user_index` of a queue whose completions name it by its own number (CQE version 1).
inline constexpr std::uint32_t no_user_index = 0xffffff;
/// `log_rq_stride` counts from 16 bytes.
inline constexpr unsigned log_least_rq_stride = 4;

/// Bits of `opt_param_mask`: the optional fields that a transition takes from the command.
enum class OptParam : std::uint32_t {
    alternate_path        = 1u << 0,
    rre                   = 1u << 1,
    rae                   = 1u << 2,
    rwe                   = 1u << 3,
    pkey_index            = 1u << 4,
    q_key                 = 1u << 5,
    rnr_timeout           = 1u << 6,
    primary_path          = 1u << 7,
    sra_max               = 1u << 8,
    rra_max               = 1u << 9,
    pm_state              = 1u << 10,
    retry_count           = 1u << 12,
    rnr_retry             = 1u << 13,
    ack_timeout           = 1u << 14,
    lag_tx_affinity       = 1u << 15,
    primary_port          = 1u << 16,
    srqn                  = 1u << 18,
    cqn_rcv               = 1u << 19,
    dc_half_handshake     = 1u << 20,
    dc_key                = 1u << 21,
    counter_set_id        = 1u << 25,
};
/// True when `mask`, an opt_param_mask, names `parameter`.
constexpr bool has(std::uint32_t mask, OptParam parameter) { return mask & static_cast<std::uint32_t>(parameter); }

using Ads = Layout<"ads", 0x2c,
    Bits<"fl",             0x00, 31>,
    Bits<"free_ar",        0x00, 30>,
    Bits<"pkey_index",     0x00, 15,  0>,
    Bits<"plane_index",    0x04, 31, 24>,
    Bits<"grh",            0x04, 23>,
    Bits<"mlid",           0x04, 22, 16>,
    Bits<"rlid",           0x04, 15,  0>,
    Bits<"ack_timeout",    0x08, 31, 27>,
    Bits<"src_addr_index", 0x08, 23, 16>,
    Bits<"stat_rate",      0x08, 11,  8>,
    Bits<"hop_limit",      0x08,  7,  0>,
    Bits<"tclass",         0x0c, 27, 20>,
    Bits<"flow_label",     0x0c, 19,  0>,
    Raw <"rgid_rip",       0x10, 16>,
    Bits<"f_dscp",         0x20, 27>,
    Bits<"f_ecn",          0x20, 26>,
    Bits<"f_eth_prio",     0x20, 24>,
    Bits<"ecn",            0x20, 23, 22>,
    Bits<"dscp",           0x20, 21, 16>,
    Bits<"udp_sport",      0x20, 15,  0>,
    Bits<"dei_cfi",        0x24, 31>,
    Bits<"eth_prio",       0x24, 30, 28>,
    Bits<"sl",             0x24, 27, 24>,
    Bits<"vhca_port_num",  0x24, 23, 16>,
    Bits<"rmac_47_32",     0x24, 15,  0>,
    U32 <"rmac_31_0",      0x28>>;

using Qpc = Layout<"qpc", 0xe8,
    Bits<"state",                       0x00, 31, 28, QpState>,
    Bits<"lag_tx_port_affinity",        0x00, 27, 24>,
    Bits<"st",                          0x00, 23, 16, QpType>,
    Bits<"isolate_vl_tc",               0x00, 13>,
    Bits<"pm_state",                    0x00, 12, 11, PathMigrationState>,
    Bits<"req_e2e_credit_mode",         0x00,  9,  8>,
    Bits<"offload_type",                0x00,  7,  4>,
    Bits<"end_padding_mode",            0x00,  3,  2>,
    Bits<"wq_signature",                0x04, 31>,
    Bits<"block_lb_mc",                 0x04, 30>,
    Bits<"atomic_like_write_en",        0x04, 29>,
    Bits<"latency_sensitive",           0x04, 28>,
    Bits<"drain_sigerr",                0x04, 26>,
    Bits<"pd",                          0x04, 23,  0>,
    Bits<"mtu",                         0x08, 31, 29, Mtu>,
    Bits<"log_msg_max",                 0x08, 28, 24>,
    Bits<"log_rq_size",                 0x08, 22, 19>,
    Bits<"log_rq_stride",               0x08, 18, 16>,
    Bits<"no_sq",                       0x08, 15>,
    Bits<"log_sq_size",                 0x08, 14, 11>,
    Bits<"retry_mode",                  0x08,  9,  8>,
    Bits<"ts_format",                   0x08,  7,  6>,
    Bits<"rlky",                        0x08,  4>,
    Bits<"ulp_stateless_offload_mode",  0x08,  3,  0>,
    Bits<"counter_set_id",              0x0c, 31, 24>,
    Bits<"uar_page",                    0x0c, 23,  0>,
    Bits<"user_index",                  0x10, 23,  0>,
    Bits<"log_page_size",               0x14, 28, 24>,
    Bits<"remote_qpn",                  0x14, 23,  0>,
    Sub <"primary_address_path",        0x18, Ads>,
    Sub <"secondary_address_path",      0x44, Ads>,
    Bits<"log_ack_req_freq",            0x70, 31, 28>,
    Bits<"log_sra_max",                 0x70, 23, 21>,
    Bits<"retry_count",                 0x70, 18, 16>,
    Bits<"rnr_retry",                   0x70, 15, 13>,
    Bits<"fre",                         0x70, 11>,
    Bits<"cur_rnr_retry",               0x70, 10,  8>,
    Bits<"cur_retry_count",             0x70,  7,  5>,
    Bits<"next_send_psn",               0x78, 23,  0>,
    Bits<"log_num_dci_stream_channels", 0x7c, 28, 24>,
    Bits<"cqn_snd",                     0x7c, 23,  0>,
    Bits<"log_num_dci_errored_streams", 0x80, 28, 24>,
    Bits<"deth_sqpn",                   0x80, 23,  0>,
    Bits<"last_acked_psn",              0x88, 23,  0>,
    Bits<"ssn",                         0x8c, 23,  0>,
    Bits<"log_rra_max",                 0x90, 23, 21>,
    Bits<"atomic_mode",                 0x90, 19, 16>,
    Bits<"rre",                         0x90, 15>,
    Bits<"rwe",                         0x90, 14>,
    Bits<"rae",                         0x90, 13>,
    Bits<"page_offset",                 0x90, 11,  6>,
    Bits<"cd_slave_receive",            0x90,  2>,
    Bits<"cd_slave_send",               0x90,  1>,
    Bits<"cd_master",                   0x90,  0>,
    Bits<"min_rnr_nak",                 0x94, 28, 24>,
    Bits<"next_rcv_psn",                0x94, 23,  0>,
    Bits<"xrcd",                        0x98, 23,  0>,
    Bits<"cqn_rcv",                     0x9c, 23,  0>,
    U64 <"dbr_addr",                    0xa0>,
    U32 <"q_key",                       0xa8>,
    Bits<"rq_type",                     0xac, 26, 24, ReceiveQueueType>,
    Bits<"srqn_rmpn_xrqn",              0xac, 23,  0>,
    Bits<"rmsn",                        0xb0, 23,  0>,
    Bits<"hw_sq_wqebb_counter",         0xb4, 31, 16>,
    Bits<"sw_sq_wqebb_counter",         0xb4, 15,  0>,
    U32 <"hw_rq_counter",               0xb8>,
    U32 <"sw_rq_counter",               0xbc>,
    Bits<"cgs",                         0xc4, 16>,
    Bits<"cs_req",                      0xc4, 15,  8, RequesterScatter>,
    Bits<"cs_res",                      0xc4,  7,  0, ResponderScatter>,
    U64 <"dc_access_key",               0xc8>,
    Bits<"dbr_umem_valid",              0xd0, 28>,
    U32 <"dbr_umem_id",                 0xe4>>;

using CreateQpIn = Layout<"create_qp_in", 0x110,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Bits<"qpc_ext",        0x08, 31>,
    Bits<"input_qpn",      0x08, 23,  0>,
    U32 <"opt_param_mask", 0x10>,
    U32 <"ece",            0x14>,
    Sub <"qpc",            0x18, Qpc>,
    U64 <"wq_umem_offset", 0x100>,
    U32 <"wq_umem_id",     0x108>,
    Bits<"wq_umem_valid",  0x10c, 31>>;
using CreateQpOut = Layout<"create_qp_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    Bits<"qpn",      0x08, 23,  0>,
    U32 <"ece",      0x0c>>;
using DestroyQpIn = Layout<"destroy_qp_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Bits<"qpn",    0x08, 23,  0>>;
using DestroyQpOut = Layout<"destroy_qp_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using Rst2initQpIn = Layout<"rst2init_qp_in", 0x110,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Bits<"qpn",            0x08, 23,  0>,
    U32 <"opt_param_mask", 0x10>,
    U32 <"ece",            0x14>,
    Sub <"qpc",            0x18, Qpc>>;
using Rst2initQpOut = Layout<"rst2init_qp_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    U32 <"ece",      0x0c>>;
using Init2initQpIn = Layout<"init2init_qp_in", 0x110,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Bits<"qpn",            0x08, 23,  0>,
    U32 <"opt_param_mask", 0x10>,
    U32 <"ece",            0x14>,
    Sub <"qpc",            0x18, Qpc>>;
using Init2initQpOut = Layout<"init2init_qp_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    U32 <"ece",      0x0c>>;
using Init2rtrQpIn = Layout<"init2rtr_qp_in", 0x110,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Bits<"qpn",            0x08, 23,  0>,
    U32 <"opt_param_mask", 0x10>,
    U32 <"ece",            0x14>,
    Sub <"qpc",            0x18, Qpc>>;
using Init2rtrQpOut = Layout<"init2rtr_qp_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    U32 <"ece",      0x0c>>;
using Rtr2rtsQpIn = Layout<"rtr2rts_qp_in", 0x110,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Bits<"qpn",            0x08, 23,  0>,
    U32 <"opt_param_mask", 0x10>,
    U32 <"ece",            0x14>,
    Sub <"qpc",            0x18, Qpc>>;
using Rtr2rtsQpOut = Layout<"rtr2rts_qp_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    U32 <"ece",      0x0c>>;
using Rts2rtsQpIn = Layout<"rts2rts_qp_in", 0x110,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Bits<"qpn",            0x08, 23,  0>,
    U32 <"opt_param_mask", 0x10>,
    U32 <"ece",            0x14>,
    Sub <"qpc",            0x18, Qpc>>;
using Rts2rtsQpOut = Layout<"rts2rts_qp_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    U32 <"ece",      0x0c>>;
using Sqerr2rtsQpIn = Layout<"sqerr2rts_qp_in", 0x110,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Bits<"qpn",            0x08, 23,  0>,
    U32 <"opt_param_mask", 0x10>,
    Sub <"qpc",            0x18, Qpc>>;
using Sqerr2rtsQpOut = Layout<"sqerr2rts_qp_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using Sqd2rtsQpIn = Layout<"sqd2rts_qp_in", 0x110,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Bits<"qpn",            0x08, 23,  0>,
    U32 <"opt_param_mask", 0x10>,
    Sub <"qpc",            0x18, Qpc>>;
using Sqd2rtsQpOut = Layout<"sqd2rts_qp_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using Qp2errIn = Layout<"qp_2err_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Bits<"qpn",    0x08, 23,  0>>;
using Qp2errOut = Layout<"qp_2err_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using Qp2rstIn = Layout<"qp_2rst_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>,
    Bits<"qpn",    0x08, 23,  0>>;
using Qp2rstOut = Layout<"qp_2rst_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using QueryQpIn = Layout<"query_qp_in", 0x10,
    Bits<"opcode",  0x00, 31, 16, Opcode>,
    Bits<"op_mod",  0x04, 15,  0>,
    Bits<"qpc_ext", 0x08, 31>,
    Bits<"qpn",     0x08, 23,  0>>;
using QueryQpOut = Layout<"query_qp_out", 0x1d0,
    Bits<"status",                    0x00, 31, 24, Status>,
    U32 <"syndrome",                  0x04>,
    U32 <"opt_param_mask",            0x10>,
    U32 <"ece",                       0x14>,
    Sub <"qpc",                       0x18, Qpc>,
    Raw <"qp_pas_or_qpc_ext_and_pas", 0x110, 192>>;   // page list, or extension and page list with qpc_ext
// clang-format on

/// Bytes that an MTU code stands for; 0 for a code that is not one.
constexpr std::uint32_t bytes_of(Mtu mtu) {
    const auto code = static_cast<unsigned>(mtu);
    return code >= 1 && code <= 5 ? 128u << code : 0;
}

} // namespace abi::prm

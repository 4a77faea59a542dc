// Completion queue entries (PRM "Completion queue entry") and the signature that closes them. Who owns an entry is said
// by its last byte, which is written last.
// Witness: testbench/witness/mlx5dv_test.cpp (struct mlx5_cqe64, mlx5_err_cqe), traces/golden/published.
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace abi::prm {

// clang-format off
#define ABI_PRM_CQE_OPCODES(X) \
    X(req,             0x0, "requester")                     \
    X(resp_wr_imm,     0x1, "responder WRITE with immediate")\
    X(resp_send,       0x2, "responder SEND")                \
    X(resp_send_imm,   0x3, "responder SEND with immediate") \
    X(resp_send_inv,   0x4, "responder SEND with invalidate")\
    X(resize_cq,       0x5, "resize CQ")                     \
    X(sig_err,         0xc, "signature error")               \
    X(req_err,         0xd, "requester error")               \
    X(resp_err,        0xe, "responder error")               \
    X(invalid,         0xf, "invalid")
ABI_NAMED_ENUM(CqeOpcode, std::uint8_t, ABI_PRM_CQE_OPCODES)
#undef ABI_PRM_CQE_OPCODES

#define ABI_PRM_CQE_SYNDROMES(X) \
    X(local_length_err,            0x01, "local length error")           \
    X(local_qp_op_err,             0x02, "local QP operation error")     \
    X(local_prot_err,              0x04, "local protection error")       \
    X(wr_flush_err,                0x05, "work request flushed")         \
    X(mw_bind_err,                 0x06, "memory window bind error")     \
    X(bad_resp_err,                0x10, "bad response error")           \
    X(local_access_err,            0x11, "local access error")           \
    X(remote_inval_req_err,        0x12, "remote invalid request error") \
    X(remote_access_err,           0x13, "remote access error")          \
    X(remote_op_err,               0x14, "remote operation error")       \
    X(transport_retry_exc_err,     0x15, "transport retry exceeded")     \
    X(rnr_retry_exc_err,           0x16, "RNR retry exceeded")           \
    X(remote_aborted_err,          0x22, "remote aborted error")
ABI_NAMED_ENUM(CqeSyndrome, std::uint8_t, ABI_PRM_CQE_SYNDROMES)
#undef ABI_PRM_CQE_SYNDROMES

/// `cqe_format`: whether the entry carries bytes of the message (PRM "CQE", scatter to CQE). 32 bytes overwrite the
/// first half of the CQE64, which otherwise describes a datagram; 64 bytes stand in front of it, in a 128-byte entry.
enum class CqeFormat : std::uint8_t { no_data = 0, inline_32 = 1, inline_64 = 2, compressed = 3 };

using Cqe64 = Layout<"cqe64", 64,
    U16 <"wqe_id",         0x02>,
    U32 <"rx_hash_result", 0x0c>,
    U8  <"rx_hash_type",   0x10>,
    U8  <"ml_path",        0x11>,
    U16 <"check_sum",      0x14>,
    U16 <"slid",           0x16>,
    Bits<"grh",            0x18, 29, 28>,                // not 0: the buffer starts with a GRH
    Bits<"sl",             0x18, 27, 24>,                // RoCE: type of the L3 header in bits 25..24
    Bits<"rqpn",           0x18, 23,  0>,                // flags_rqpn: QP the datagram came from
    U8  <"hds_ip_ext",     0x1c>,
    U8  <"l4_l3_hdr_type", 0x1d>,
    U16 <"vlan_info",      0x1e>,
    Bits<"lro_num_seg",    0x20, 31, 24>,
    Bits<"srqn_uidx",      0x20, 23,  0>,
    U32 <"imm_inval_pkey", 0x24>,
    U32 <"byte_cnt",       0x2c>,
    U64 <"timestamp",      0x30>,
    Bits<"sop",            0x38, 31, 24>,                // opcode of the send WQE
    Bits<"qpn",            0x38, 23,  0>,
    U16 <"wqe_counter",    0x3c>,
    U8  <"signature",      0x3e>,
    Bits<"opcode",         0x3c,  7,  4, CqeOpcode>,
    Bits<"cqe_format",     0x3c,  3,  2, CqeFormat>,
    Bits<"se",             0x3c,  1>,
    Bits<"owner",          0x3c,  0>>;                   // flips on each pass of the ring

using ErrCqe = Layout<"err_cqe", 64,
    Bits<"srqn_uidx",       0x20, 23,  0>,
    U8  <"vendor_err_synd", 0x36>,
    Bits<"syndrome",        0x34,  7,  0, CqeSyndrome>,
    Bits<"sop",             0x38, 31, 24>,
    Bits<"qpn",             0x38, 23,  0>,
    U16 <"wqe_counter",     0x3c>,
    U8  <"signature",       0x3e>,
    Bits<"opcode",          0x3c,  7,  4, CqeOpcode>,
    Bits<"cqe_format",      0x3c,  3,  2, CqeFormat>,
    Bits<"se",              0x3c,  1>,
    Bits<"owner",           0x3c,  0>>;
// clang-format on

inline constexpr std::size_t cqe_op_own_offset = 0x3f; ///< the byte that hands an entry over, written last
inline constexpr std::size_t cqe_signature_offset = 0x3e;
inline constexpr std::size_t cqe_inline_32 = 32, cqe_inline_64 = 64; ///< bytes that each CqeFormat has room for

/// The signature of a CQE64: chosen so that all 64 bytes XOR to 0xff. The byte at its place does not count.
constexpr std::uint8_t cqe_signature(std::span<const std::byte> cqe) {
    assert(cqe.size() == Cqe64::size);
    // Eight words instead of 64 bytes: this stands on the path of every completion.
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < Cqe64::size; i += sizeof sum)
        sum ^= load<std::uint64_t, Endian::little>(cqe.data() + i);
    sum ^= sum >> 32;
    sum ^= sum >> 16;
    sum ^= sum >> 8;
    return static_cast<std::uint8_t>(~(sum ^ std::to_integer<std::uint64_t>(cqe[cqe_signature_offset])));
}

} // namespace abi::prm

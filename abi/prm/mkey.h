// Memory keys (PRM "Memory key", "MKey context"): the context, its translation entries and the commands. The
// translation table follows CREATE_MKEY at `CreateMkeyIn::size`, in units of octowords (two MTT entries each).
// Witness: testbench/witness/prm_layouts.py (mlx5_ifc.h, pyverbs), mlx5dv_test.cpp (struct mlx5_wqe_mkey_context_seg).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
/// How the translation table of a key is to be read: access_mode_4_2 << 2 | access_mode_1_0.
#define ABI_PRM_ACCESS_MODES(X) \
    X(pa,       0, "physical address")   \
    X(mtt,      1, "MTT")                \
    X(klms,     2, "KLM")                \
    X(ksm,      3, "KSM")                \
    X(sw_icm,   4, "software ICM")       \
    X(memic,    5, "device memory")      \
    X(crossing, 6, "crossing VHCA")
ABI_NAMED_ENUM(AccessMode, std::uint8_t, ABI_PRM_ACCESS_MODES)
#undef ABI_PRM_ACCESS_MODES

using Mkc = Layout<"mkc", 0x40,
    Bits<"free",                              0x00, 30>,
    Bits<"access_mode_4_2",                   0x00, 28, 26>,
    Bits<"relaxed_ordering_write",            0x00, 18>,
    Bits<"small_fence_on_rdma_read_response", 0x00, 16>,
    Bits<"umr_en",                            0x00, 15>,
    Bits<"a",                                 0x00, 14>,
    Bits<"rw",                                0x00, 13>,
    Bits<"rr",                                0x00, 12>,
    Bits<"lw",                                0x00, 11>,
    Bits<"lr",                                0x00, 10>,
    Bits<"access_mode_1_0",                   0x00,  9,  8>,
    Bits<"ma_translation_mode",               0x00,  5,  4>,
    Bits<"qpn",                               0x04, 31,  8>,
    Bits<"mkey_7_0",                          0x04,  7,  0>,
    Bits<"length64",                          0x0c, 31>,
    Bits<"bsf_en",                            0x0c, 30>,
    Bits<"sync_umr",                          0x0c, 29>,
    Bits<"expected_sigerr_count",             0x0c, 26>,
    Bits<"en_rinval",                         0x0c, 24>,
    Bits<"pd",                                0x0c, 23,  0>,
    U64 <"start_addr",                        0x10>,
    U64 <"len",                               0x18>,
    U32 <"bsf_octword_size",                  0x20>,
    Bits<"crossing_target_vhca_id",           0x30, 31, 16>,
    U32 <"translations_octword_size",         0x34>,
    Bits<"relaxed_ordering_read",             0x38,  6>,
    Bits<"log_page_size",                     0x38,  5,  0>>;

/// One translation entry of an MTT table: a page address, and in its low bits what the device may do with the page.
using Mtt = Layout<"mtt", 8,
    U32 <"ptag_63_32", 0x00>,
    Bits<"ptag_31_8",  0x04, 31,  8>,
    Bits<"wr_en",      0x04,  1>,
    Bits<"rd_en",      0x04,  0>>;

/// A KLM table that begins with this block is interleaved: the entries behind it are used `repeat_count` times, each
/// time one stride further. The block's operation stands where other entries have their key.
inline constexpr std::uint32_t repeat_block_op = 0x400;
using RepeatBlock = Layout<"stride_block_ctrl_seg", 16,
    U32 <"bcount_per_cycle", 0x00>,                         // bytes of one repetition
    U32 <"op",               0x04>,
    U32 <"repeat_count",     0x08>,
    Bits<"num_entries",      0x0c, 15, 0>>;
using RepeatEntry = Layout<"stride_block_entry", 16,
    Bits<"stride",  0x00, 31, 16>,
    Bits<"bcount",  0x00, 15,  0>,
    U32 <"mkey",    0x04>,
    U64 <"address", 0x08>>;

/// One entry of a KLM or KSM table, which refers to another key.
using Klm = Layout<"klm", 16,
    U32 <"bcount",  0x00>,
    U32 <"mkey",    0x04>,
    U64 <"address", 0x08>>;

using CreateMkeyIn = Layout<"create_mkey_in", 0x110,
    Bits<"opcode",                           0x00, 31, 16, Opcode>,
    Bits<"op_mod",                           0x04, 15,  0>,
    Bits<"pg_access",                        0x0c, 31>,
    Bits<"mkey_umem_valid",                  0x0c, 30>,
    Bits<"data_direct",                      0x0c, 29>,
    Sub <"memory_key_mkey_entry",            0x10, Mkc>,
    U32 <"translations_octword_actual_size", 0x60>,
    U32 <"mkey_umem_id",                     0x64>,
    U64 <"mkey_umem_offset",                 0x68>>;
using CreateMkeyOut = Layout<"create_mkey_out", 0x10,
    Bits<"status",     0x00, 31, 24, Status>,
    U32 <"syndrome",   0x04>,
    Bits<"mkey_index", 0x08, 23,  0>>;
using QueryMkeyIn = Layout<"query_mkey_in", 0x10,
    Bits<"opcode",     0x00, 31, 16, Opcode>,
    Bits<"op_mod",     0x04, 15,  0>,
    Bits<"mkey_index", 0x08, 23,  0>,
    Bits<"pg_access",  0x0c, 31>>;
using QueryMkeyOut = Layout<"query_mkey_out", 0x130,
    Bits<"status",                0x00, 31, 24, Status>,
    U32 <"syndrome",              0x04>,
    Sub <"memory_key_mkey_entry", 0x10, Mkc>,
    Raw <"bsf0_klm0_pas_mtt0_1",  0x110, 16>,
    Raw <"bsf1_klm1_pas_mtt2_3",  0x120, 16>>;
using DestroyMkeyIn = Layout<"destroy_mkey_in", 0x10,
    Bits<"opcode",     0x00, 31, 16, Opcode>,
    Bits<"op_mod",     0x04, 15,  0>,
    Bits<"mkey_index", 0x08, 23,  0>>;
using DestroyMkeyOut = Layout<"destroy_mkey_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
// clang-format on

inline constexpr std::uint32_t mkey_any_qpn = 0xffffff; ///< `qpn` of a key that every queue pair may use
inline constexpr std::uint32_t invalid_lkey = 0x100;    ///< ends a scatter list early
inline constexpr std::size_t octoword_bytes = 16;

/// The access mode, whose five bits stand in two places.
template <class B> constexpr AccessMode access_mode(View<Mkc, B> mkc) {
    return static_cast<AccessMode>(mkc.template get<"access_mode_4_2">() << 2 | mkc.template get<"access_mode_1_0">());
}
constexpr void set_access_mode(View<Mkc> mkc, AccessMode mode) {
    mkc.set<"access_mode_4_2">(static_cast<std::uint32_t>(mode) >> 2)
        .set<"access_mode_1_0">(static_cast<std::uint32_t>(mode) & 3);
}

} // namespace abi::prm

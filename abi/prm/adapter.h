// What the adapter is (PRM "QUERY_ADAPTER") and the keys and contexts that exist before any object is created
// (PRM "QUERY_SPECIAL_CONTEXTS").
// Witness: testbench/witness/prm_layouts.py (linux/mlx5/mlx5_ifc.h).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

/// Who makes the adapter: its number at the PCI-SIG, and at the IEEE (which is a prefix of GUIDs, too).
inline constexpr std::uint16_t pci_vendor = 0x15b3;
inline constexpr std::uint32_t ieee_vendor = 0x0002c9;

// clang-format off
using QueryAdapterParamBlock = Layout<"query_adapter_param_block", 0x100,
    Bits<"ieee_vendor_id", 0x18, 23,  0>,
    Bits<"vsd_vendor_id",  0x1c, 15,  0>,
    Raw <"vsd",            0x20, 208>,
    Raw <"vsd_contd_psid", 0xf0, 16>>;

using QueryAdapterIn = Layout<"query_adapter_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>>;
using QueryAdapterOut = Layout<"query_adapter_out", 0x110,
    Bits<"status",               0x00, 31, 24, Status>,
    U32 <"syndrome",             0x04>,
    Sub <"query_adapter_struct", 0x10, QueryAdapterParamBlock>>;
using QuerySpecialContextsIn = Layout<"query_special_contexts_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>>;
using QuerySpecialContextsOut = Layout<"query_special_contexts_out", 0x20,
    Bits<"status",                      0x00, 31, 24, Status>,
    U32 <"syndrome",                    0x04>,
    U32 <"dump_fill_mkey",              0x08>,
    U32 <"resd_lkey",                   0x0c>,
    U32 <"null_mkey",                   0x10>,
    U32 <"terminate_scatter_list_mkey", 0x14>,
    U32 <"repeated_mkey",               0x18>>;
// clang-format on

} // namespace abi::prm

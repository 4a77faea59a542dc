// Memory that the host lends to the firmware (PRM "Firmware pages"): how many pages it wants, giving and taking back.
// The page addresses follow MANAGE_PAGES at `ManagePagesIn::size` and `ManagePagesOut::size`, eight bytes each.
// Witness: testbench/witness/prm_layouts.py (linux/mlx5/mlx5_ifc.h).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
/// op_mod of QUERY_PAGES.
enum class PageQuery : std::uint16_t { boot = 1, init = 2, regular = 3 };
/// op_mod of MANAGE_PAGES.
enum class PageAction : std::uint16_t { cannot_give = 0, give = 1, take = 2 };
inline constexpr std::size_t page_bytes = 4096; ///< what one page address stands for

using QueryPagesIn = Layout<"query_pages_in", 0x10,
    Bits<"opcode",                0x00, 31, 16, Opcode>,
    Bits<"op_mod",                0x04, 15,  0>,
    Bits<"embedded_cpu_function", 0x08, 31>,
    Bits<"function_id",           0x08, 15,  0>>;
using QueryPagesOut = Layout<"query_pages_out", 0x10,
    Bits<"status",                0x00, 31, 24, Status>,
    U32 <"syndrome",              0x04>,
    Bits<"embedded_cpu_function", 0x08, 31>,
    Bits<"function_id",           0x08, 15,  0>,
    U32 <"num_pages",             0x0c>>;
using ManagePagesIn = Layout<"manage_pages_in", 0x10,
    Bits<"opcode",                0x00, 31, 16, Opcode>,
    Bits<"op_mod",                0x04, 15,  0>,
    Bits<"embedded_cpu_function", 0x08, 31>,
    Bits<"function_id",           0x08, 15,  0>,
    U32 <"input_num_entries",     0x0c>>;
using ManagePagesOut = Layout<"manage_pages_out", 0x10,
    Bits<"status",             0x00, 31, 24, Status>,
    U32 <"syndrome",           0x04>,
    U32 <"output_num_entries", 0x08>>;
// clang-format on

} // namespace abi::prm

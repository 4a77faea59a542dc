// On-demand paging (PRM "Page fault"): the command that answers a page fault event. The events are in eqe.h, what a
// device can leave to them in capability.h. Witness: testbench/witness/prm_layouts.py (linux/mlx5/mlx5_ifc.h).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"
#include "abi/prm/eqe.h"

namespace abi::prm {

// clang-format off
/// Which fault, and how it ended.
using TransPageFaultInfo = Layout<"trans_page_fault_info", 0x8,
    Bits<"error",           0x00, 31>,                   // the pages will never be there
    Bits<"page_fault_type", 0x00, 26, 24, PageFaultType>,
    Bits<"wq_number",       0x00, 23,  0>,               // as the event named it; its token where it named none
    Bits<"fault_token",     0x04, 23,  0>>;
using PageFaultInfo = Layout<"page_fault_resume_in_page_fault_info_auto", 0x8,
    Sub <"trans_page_fault_info", 0x00, TransPageFaultInfo>>;
using PageFaultResumeIn = Layout<"page_fault_resume_in", 0x10,
    Bits<"opcode",          0x00, 31, 16, Opcode>,
    Bits<"op_mod",          0x04, 15,  0>,
    Sub <"page_fault_info", 0x08, PageFaultInfo>>;
using PageFaultResumeOut = Layout<"page_fault_resume_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
// clang-format on

} // namespace abi::prm

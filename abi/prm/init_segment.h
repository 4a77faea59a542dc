// The initialization segment at the start of BAR 0 (PRM "Initialization segment"): where a driver finds the command
// queue, the health of the firmware and the free-running timer. Queries of the start-up order are in this chapter too.
// Witness: testbench/witness/prm_layouts.py (linux/mlx5: mlx5_ifc.h, device.h).
#pragma once

#include "abi/layout.h"
#include "abi/prm/command.h"

namespace abi::prm {

// clang-format off
/// State of the NIC interface as the driver asks for it.
#define ABI_PRM_NIC_INTERFACES(X) \
    X(full_driver,  0, "full driver")  \
    X(disabled,     1, "disabled")     \
    X(no_dram_nic,  2, "no-DRAM NIC")  \
    X(sw_reset,     7, "software reset")
ABI_NAMED_ENUM(NicInterface, std::uint8_t, ABI_PRM_NIC_INTERFACES)
#undef ABI_PRM_NIC_INTERFACES

using HealthBuffer = Layout<"health_buffer", 0x40,
    Raw <"assert_var",      0x00, 24,     ro>,
    U32 <"assert_existptr", 0x20,         ro>,
    U32 <"assert_callra",   0x24,         ro>,
    U32 <"time",            0x2c,         ro>,
    U32 <"fw_version",      0x30,         ro>,  // all ones: the slot is unavailable
    U32 <"hw_id",           0x34,         ro>,
    Bits<"rfr",             0x38, 31, 31, ro>,
    Bits<"valid",           0x38, 27, 27, ro>,
    Bits<"severity",        0x38, 26, 24, ro>,
    Bits<"irisc_index",     0x3c, 31, 24, ro>,
    Bits<"synd",            0x3c, 23, 16, ro>,
    Bits<"ext_synd",        0x3c, 15,  0, ro>>;

using InitialSegment = Layout<"initial_seg", 0x400c,
    Bits<"fw_rev_minor",            0x0000, 31, 16,               ro>,
    Bits<"fw_rev_major",            0x0000, 15,  0,               ro>,
    Bits<"cmd_interface_rev",       0x0004, 31, 16,               ro>,
    Bits<"fw_rev_subminor",         0x0004, 15,  0,               ro>,
    U32 <"cmdq_phy_addr_63_32",     0x0010,                       rw>,
    Bits<"cmdq_phy_addr_31_12",     0x0014, 31, 12,               rw>,
    Bits<"nic_interface",           0x0014, 10,  8, NicInterface, rw>,
    Bits<"log_cmdq_size",           0x0014,  7,  4,               ro>,
    Bits<"log_cmdq_stride",         0x0014,  3,  0,               ro>,
    U32 <"command_doorbell_vector", 0x0018,                       wo>,
    Bits<"initializing",            0x01fc, 31, 31,               ro>,
    Bits<"nic_interface_supported", 0x01fc, 26, 24,               ro>,
    Bits<"embedded_cpu",            0x01fc, 23, 23,               ro>,
    Sub <"health_buffer",           0x0200, HealthBuffer>,
    U32 <"no_dram_nic_offset",      0x0240,                       ro>,
    U32 <"cmd_exec_to",             0x0ff8,                       ro>,
    U32 <"cmd_q_init_to",           0x0ffc,                       ro>,
    U32 <"internal_timer_h",        0x1000,                       ro>,
    U32 <"internal_timer_l",        0x1004,                       ro>,
    Bits<"clear_int",               0x100c,  0,  0,               wo>,
    Bits<"health_syndrome",         0x1010, 31, 24,               ro>,
    Bits<"health_counter",          0x1010, 23,  0,               ro>,
    U32 <"real_time_h",             0x1040,                       ro>,
    U32 <"real_time_l",             0x1044,                       ro>>;
inline constexpr std::uint32_t command_interface_revision = 5; ///< the only revision a driver accepts

using EnableHcaIn = Layout<"enable_hca_in", 0x10,
    Bits<"opcode",                0x00, 31, 16, Opcode>,
    Bits<"op_mod",                0x04, 15,  0>,
    Bits<"embedded_cpu_function", 0x08, 31>,
    Bits<"function_id",           0x08, 15,  0>>;
using EnableHcaOut = Layout<"enable_hca_out", 0xc,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using DisableHcaIn = Layout<"disable_hca_in", 0x10,
    Bits<"opcode",                0x00, 31, 16, Opcode>,
    Bits<"op_mod",                0x04, 15,  0>,
    Bits<"embedded_cpu_function", 0x08, 31>,
    Bits<"function_id",           0x08, 15,  0>>;
using DisableHcaOut = Layout<"disable_hca_out", 0xc,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using InitHcaIn = Layout<"init_hca_in", 0x20,
    Bits<"opcode",      0x00, 31, 16, Opcode>,
    Bits<"op_mod",      0x04, 15,  0>,
    Bits<"sw_vhca_id",  0x0c, 29, 16>,
    Raw <"sw_owner_id", 0x10, 16>>;
using InitHcaOut = Layout<"init_hca_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using TeardownHcaIn = Layout<"teardown_hca_in", 0x10,
    Bits<"opcode",  0x00, 31, 16, Opcode>,
    Bits<"op_mod",  0x04, 15,  0>,
    Bits<"profile", 0x08, 15,  0>>;
using TeardownHcaOut = Layout<"teardown_hca_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>,
    Bits<"state",    0x0c,  0>>;
using QueryIssiIn = Layout<"query_issi_in", 0x10,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"op_mod", 0x04, 15,  0>>;
using QueryIssiOut = Layout<"query_issi_out", 0x70,
    Bits<"status",             0x00, 31, 24, Status>,
    U32 <"syndrome",           0x04>,
    Bits<"current_issi",       0x08, 15,  0>,
    U32 <"supported_issi_dw0", 0x6c>>;
using SetIssiIn = Layout<"set_issi_in", 0x10,
    Bits<"opcode",       0x00, 31, 16, Opcode>,
    Bits<"op_mod",       0x04, 15,  0>,
    Bits<"current_issi", 0x08, 15,  0>>;
using SetIssiOut = Layout<"set_issi_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
using SetDriverVersionIn = Layout<"set_driver_version_in", 0x50,
    Bits<"opcode",         0x00, 31, 16, Opcode>,
    Bits<"op_mod",         0x04, 15,  0>,
    Raw <"driver_version", 0x10, 64>>;
using SetDriverVersionOut = Layout<"set_driver_version_out", 0x10,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;
// clang-format on

} // namespace abi::prm

// How software says that there is work (PRM "UAR", "Doorbell record"): registers of a UAR page and the records in host
// memory. A register says "look"; how far to look stands in the record.
// Witness: testbench/witness/mlx5dv_test.cpp (the ctrl segment's first eight bytes), prm_layouts.py (device.h, cq.h).
#pragma once

#include "abi/layout.h"

#include <cstddef>
#include <cstdint>

namespace abi::prm {

// clang-format off
inline constexpr std::size_t uar_page_bytes     = 0x1000;
inline constexpr std::size_t uar_cq_doorbell    = 0x020; ///< 8 bytes: arms a completion queue
inline constexpr std::size_t uar_eq_arm         = 0x040; ///< 4 bytes: consumer index of an event queue, arms it
inline constexpr std::size_t uar_eq_update      = 0x048; ///< 4 bytes: consumer index of an event queue, does not arm
inline constexpr std::size_t uar_bfreg          = 0x800; ///< first BlueFlame register
inline constexpr std::size_t uar_bfreg_end      = 0x1000;
inline constexpr unsigned    log_bf_reg_size    = 9;     ///< log2 of the bytes of a register: two buffers of half of it
inline constexpr std::size_t bfregs_per_uar     = (uar_bfreg_end - uar_bfreg) >> log_bf_reg_size;
inline constexpr std::size_t bf_buffer_bytes    = std::size_t{1} << (log_bf_reg_size - 1);

/// What an armed completion queue waits for.
enum class ArmCommand : std::uint8_t { next = 0, solicited = 1 };

/// UAR register at 0x20, and the arm word of the record followed by the queue's number.
using CqDoorbell = Layout<"cq_doorbell", 8,
    Bits<"cmd_sn", 0x00, 29, 28>,                   // counts events, modulo 4
    Bits<"cmd",    0x00, 24, 24, ArmCommand>,
    Bits<"ci",     0x00, 23,  0>,
    Bits<"cqn",    0x04, 23,  0>>;

/// UAR registers at 0x40 and 0x48.
using EqDoorbell = Layout<"eq_doorbell", 4,
    Bits<"eqn", 0x00, 31, 24>,
    Bits<"ci",  0x00, 23,  0>>;

/// Send doorbell: the first eight bytes of the ctrl segment of the last WQE posted.
using SendDoorbell = Layout<"send_doorbell", 8,
    Bits<"opmod",     0x00, 31, 24>,
    Bits<"wqe_index", 0x00, 23,  8>,
    Bits<"opcode",    0x00,  7,  0>,
    Bits<"qpn",       0x04, 31,  8>,
    Bits<"ds",        0x04,  5,  0>>;

/// Record of a queue pair: what has been posted, modulo 2^16.
using QpDoorbellRecord = Layout<"qp_doorbell_record", 8,
    Bits<"rcv_counter",  0x00, 15,  0>,             // in WQEs
    Bits<"send_counter", 0x04, 15,  0>>;            // in basic blocks of 64 bytes

/// Record of a completion queue: what has been consumed, and a copy of the arm command.
using CqDoorbellRecord = Layout<"cq_doorbell_record", 8,
    Bits<"update_ci", 0x00, 23,  0>,
    Bits<"cmd_sn",    0x04, 29, 28>,
    Bits<"cmd",       0x04, 24, 24, ArmCommand>,
    Bits<"arm_ci",    0x04, 23,  0>>;
// clang-format on

/// Producer and consumer indices of completion and event queues have 24 bits, and are compared modulo 2^24.
inline constexpr std::uint32_t queue_index_mask = 0xffffff;

} // namespace abi::prm

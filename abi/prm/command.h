// The command interface (PRM "Command interface"): entries of the command queue, mailboxes, the header that every
// command shares, and the status values. The commands themselves are in the chapter of the object they act on.
// Witness: testbench/witness/prm_layouts.py (linux/mlx5: mlx5_ifc.h, device.h).
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"
#include "abi/prm/opcodes.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace abi::prm {

// clang-format off
/// What became of a command that reached the firmware: the status byte of its output.
#define ABI_PRM_STATUSES(X) \
    X(ok,                  0x00, "ok")                  \
    X(internal_error,      0x01, "internal error")      \
    X(bad_operation,       0x02, "bad operation")       \
    X(bad_parameter,       0x03, "bad parameter")       \
    X(bad_system_state,    0x04, "bad system state")    \
    X(bad_resource,        0x05, "bad resource")        \
    X(resource_busy,       0x06, "resource busy")       \
    X(not_ready,           0x07, "not ready")           \
    X(limits_exceeded,     0x08, "limits exceeded")     \
    X(bad_resource_state,  0x09, "bad resource state")  \
    X(bad_index,           0x0a, "bad index")           \
    X(no_resources,        0x0f, "no resources")        \
    X(bad_qp_state,        0x10, "bad QP state")        \
    X(bad_packet,          0x30, "bad packet")          \
    X(bad_size_outstanding_cqes, 0x40, "bad size of outstanding CQEs") \
    X(bad_input_length,    0x50, "bad input length")    \
    X(bad_output_length,   0x51, "bad output length")
ABI_NAMED_ENUM(Status, std::uint8_t, ABI_PRM_STATUSES)
#undef ABI_PRM_STATUSES

/// What became of the command queue entry itself: bits 7..1 of its last byte.
#define ABI_PRM_DELIVERY_STATUSES(X) \
    X(ok,                       0x00, "ok")                            \
    X(signature_error,          0x01, "signature error")               \
    X(token_error,              0x02, "token error")                   \
    X(bad_block_number,         0x03, "bad block number")              \
    X(bad_output_pointer,       0x04, "output pointer not aligned")    \
    X(bad_input_pointer,        0x05, "input pointer not aligned")     \
    X(internal_error,           0x06, "internal error")                \
    X(bad_input_length,         0x07, "bad input length")              \
    X(bad_output_length,        0x08, "bad output length")             \
    X(reserved_not_zero,        0x09, "reserved field not zero")       \
    X(bad_descriptor_type,      0x10, "bad descriptor type")
ABI_NAMED_ENUM(DeliveryStatus, std::uint8_t, ABI_PRM_DELIVERY_STATUSES)
#undef ABI_PRM_DELIVERY_STATUSES

/// The first 16 bytes of every command input.
using CommandIn = Layout<"command_in", 16,
    Bits<"opcode", 0x00, 31, 16, Opcode>,
    Bits<"uid",    0x00, 15,  0>,           // user context of a DEVX command, 0 for the kernel's own
    Bits<"op_mod", 0x04, 15,  0>>;

/// The first 16 bytes of every command output.
using CommandOut = Layout<"command_out", 16,
    Bits<"status",   0x00, 31, 24, Status>,
    U32 <"syndrome", 0x04>>;

/// One entry of the command queue.
using CommandQueueEntry = Layout<"command_queue_entry", 64,
    Bits<"type",            0x00, 31, 24>,                  // 7: PCIe transport
    U32 <"input_length",    0x04>,                          // bytes, with the first 16
    U64 <"input_mailbox",   0x08>,                          // bus address, 512-byte aligned; 0 when 16 bytes suffice
    Raw <"input",           0x10, 16>,
    Raw <"output",          0x20, 16>,
    U64 <"output_mailbox",  0x30>,
    U32 <"output_length",   0x38>,
    U8  <"token",           0x3c>,
    U8  <"signature",       0x3d>,
    Bits<"delivery_status", 0x3c,  7,  1, DeliveryStatus>,
    Bits<"owner",           0x3c,  0>>;                     // 1: the device's, 0: software's
inline constexpr std::size_t status_own_offset = 0x3f;      ///< the byte that hands an entry over, written last
inline constexpr std::uint8_t command_transport_pcie = 7;   ///< the only `type` of a command queue entry

/// One block of a mailbox chain; blocks are 1 KiB aligned in practice, 512-byte aligned by rule.
using CommandMailbox = Layout<"command_mailbox", 576,
    Raw <"data",              0x000, 512>,
    U64 <"next",              0x230>,                       // bus address of the next block, 0 at the end
    U32 <"block_num",         0x238>,                       // counts from 0
    U8  <"token",             0x23d>,                       // as in the entry
    U8  <"ctrl_sig",          0x23e>,                       // complement of XOR of 0x230..0x23d
    U8  <"sig",               0x23f>>;                      // complement of XOR of the other 575 bytes
inline constexpr std::size_t mailbox_data_bytes = 512;

// clang-format on

/// Signatures are chosen so that the XOR of all bytes of a signed area is this.
inline constexpr std::uint8_t good_signature = 0xff;
constexpr std::uint8_t xor_of(std::span<const std::byte> bytes) {
    std::byte sum{};
    for (const auto b : bytes)
        sum ^= b;
    return std::to_integer<std::uint8_t>(sum);
}

} // namespace abi::prm

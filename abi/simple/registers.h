// Registers of the simple HCA: BAR 0. Its document is model/simple/README.md, chapter "Registers". Little endian; every
// access is of 4 or 8 bytes, naturally aligned. Witness: testbench/witness/simple_test.cpp (the tables of the
// document).
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

#include <cstdint>

namespace abi::simple {

/// No vendor has this number at the PCI-SIG: devices that exist in emulators alone use it.
inline constexpr std::uint16_t vendor_id = 0x1234, device_id = 0x51a1;

inline constexpr std::uint32_t identity = 0x4143'4853; ///< "SHCA" in the order of memory
inline constexpr std::uint32_t interface_version = 1;

// clang-format off
#define ABI_SIMPLE_COMMANDS(X)                     \
    X(nop,            0, "NOP")                    \
    X(create_region,  1, "CREATE_REGION")          \
    X(destroy_region, 2, "DESTROY_REGION")         \
    X(create_cq,      3, "CREATE_CQ")              \
    X(destroy_cq,     4, "DESTROY_CQ")             \
    X(create_qp,      5, "CREATE_QP")              \
    X(destroy_qp,     6, "DESTROY_QP")             \
    X(connect_qp,     7, "CONNECT_QP")             \
    X(fail_qp,        8, "FAIL_QP")                \
    X(query_qp,       9, "QUERY_QP")
ABI_NAMED_ENUM(Command, std::uint32_t, ABI_SIMPLE_COMMANDS)
#undef ABI_SIMPLE_COMMANDS

/// What became of a command.
#define ABI_SIMPLE_STATUSES(X)                                                                  \
    X(ok,             0, "done")                                                                \
    X(bad_command,    1, "no such command")                                                     \
    X(bad_argument,   2, "an argument has a value that the command does not take")              \
    X(no_number,      3, "all numbers of this kind are taken")                                  \
    X(no_memory,      4, "the memory of the card has no room for it")                           \
    X(no_object,      5, "there is no object of that number")                                   \
    X(busy,           6, "the object is used by others")                                        \
    X(bad_state,      7, "the queue pair is in another state than the command needs")           \
    X(unreadable,     8, "the page list cannot be read")
ABI_NAMED_ENUM(Status, std::uint8_t, ABI_SIMPLE_STATUSES)
#undef ABI_SIMPLE_STATUSES

#define ABI_SIMPLE_STATES(X)                             \
    X(reset, 0, "reset") /* made, and not connected */   \
    X(ready, 1, "ready")                                 \
    X(error, 2, "error")
ABI_NAMED_ENUM(QpState, std::uint8_t, ABI_SIMPLE_STATES)
#undef ABI_SIMPLE_STATES

using Registers = LittleLayout<"simple_registers", 0x80,
    U32 <"identity",       0x00,                       ro>,
    U32 <"version",        0x04,                       ro>,
    Bits<"log_qps",        0x08,  7,  0, std::uint8_t, ro>,   // log2 of the numbers there are
    Bits<"log_cqs",        0x08, 15,  8, std::uint8_t, ro>,
    Bits<"log_regions",    0x08, 23, 16, std::uint8_t, ro>,
    Bits<"log_entries",    0x08, 31, 24, std::uint8_t, ro>,   // log2 of the descriptors of a ring, at most
    Bits<"log_message",    0x0c,  7,  0, std::uint8_t, ro>,   // log2 of the bytes of a message, at most
    Bits<"reads",          0x0c, 15,  8, std::uint8_t, ro>,   // READs under way on a queue pair, each way
    Bits<"is_infiniband",  0x0c, 16, 16, bool,         ro>,   // of the port; else Ethernet
    Bits<"lid",            0x10, 15,  0, std::uint16_t, ro>,  // of an InfiniBand port
    U64 <"memory_bytes",   0x18,                       ro>,   // of the card
    U64 <"memory_free",    0x20,                       ro>,
    Raw <"mac",            0x28, 6,                    ro>,
    Raw <"gid",            0x30, 16,                   rw>,   // of a RoCE port: ::ffff:a.b.c.d speaks IPv4, others IPv6
    Bits<"command",        0x40, 31,  0, Command,      wo>,   // a write begins the command
    Bits<"is_busy",        0x44,  0,  0, bool,         ro>,   // the command has not ended; what else stands here is of
    Bits<"status",         0x44, 15,  8, Status,       ro>,   // the one before
    U32 <"result",         0x48,                       ro>>;  // number, key or state
// clang-format on

/// Where the arguments of a command are written, in the layout that the command has (abi/simple/command.h).
inline constexpr std::uint64_t arguments_offset = 0x80;
inline constexpr std::size_t arguments_bytes = 0x80;

/// Doorbells, 8 bytes a queue pair, from here on: how many descriptors have been posted since it was made.
inline constexpr std::uint64_t doorbells_offset = 0x1000;
// clang-format off
using Doorbell = LittleLayout<"simple_doorbell", 8,
    U32<"send",    0x0, wo>,
    U32<"receive", 0x4, wo>>;
// clang-format on

} // namespace abi::simple

// What the simple HCA and its driver exchange in memory: descriptors and completions. Its document is
// model/simple/README.md, chapters "Descriptors" and "Completions". Little endian.
// Witness: testbench/witness/simple_test.cpp (the tables of the document).
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

#include <cstdint>

namespace abi::simple {

// clang-format off
#define ABI_SIMPLE_OPERATIONS(X)                     \
    X(nop,       0, "NOP")                           \
    X(write,     1, "WRITE")                         \
    X(write_imm, 2, "WRITE with immediate")          \
    X(read,      3, "READ")                          \
    X(send,      4, "SEND")                          \
    X(send_imm,  5, "SEND with immediate")
ABI_NAMED_ENUM(Operation, std::uint8_t, ABI_SIMPLE_OPERATIONS)
#undef ABI_SIMPLE_OPERATIONS

// Of a ring of sends; one of a ring of receives has a cookie, an address, a key and a length, and the rest is zero.
using Descriptor = LittleLayout<"simple_descriptor", 64,
    U64 <"cookie",         0x00>,                    // comes back in the completion
    Bits<"operation",      0x08,  7,  0, Operation>,
    Bits<"is_signaled",    0x08,  8,  8, bool>,      // it has a completion on success, too
    Bits<"is_solicited",   0x08,  9,  9, bool>,
    Bits<"is_fenced",      0x08, 10, 10, bool>,      // it begins when all before it are done
    U32 <"immediate",      0x0c>,
    U64 <"address",        0x10>,                    // here
    U32 <"key",            0x18>,
    U32 <"length",         0x1c>,
    U64 <"remote_address", 0x20>,
    U32 <"remote_key",     0x28>>;

/// What became of a descriptor. Values follow the order of ibv_wc_status, as far as this HCA has them.
#define ABI_SIMPLE_OUTCOMES(X)                                                       \
    X(success,                  0, "success")                                        \
    X(local_length_error,       1, "a message is longer than its receive")           \
    X(local_operation_error,    2, "a descriptor that cannot be carried out")        \
    X(local_protection_error,   3, "a local key does not allow it")                  \
    X(flushed,                  4, "the queue pair was in error before")             \
    X(bad_response,             5, "the peer has answered what was not asked")       \
    X(remote_invalid_request,   6, "the peer refuses the request")                   \
    X(remote_access_error,      7, "the peer's key does not allow it")               \
    X(remote_operation_error,   8, "the peer could not carry it out")                \
    X(retry_exceeded,           9, "the peer did not answer")                        \
    X(rnr_retry_exceeded,      10, "the peer has no receive")
ABI_NAMED_ENUM(Outcome, std::uint8_t, ABI_SIMPLE_OUTCOMES)
#undef ABI_SIMPLE_OUTCOMES

using Completion = LittleLayout<"simple_completion", 32,
    U64 <"cookie",         0x00>,
    U32 <"index",          0x08>,                    // of the descriptor, counted since the queue pair was made
    U32 <"byte_count",     0x0c>,                    // of READs and receives
    U32 <"immediate",      0x10>,
    Bits<"qpn",            0x14, 23,  0>,
    Bits<"source_qpn",     0x18, 23,  0>,            // of receives
    Bits<"outcome",        0x1c,  7,  0, Outcome>,
    Bits<"operation",      0x1c, 15,  8, Operation>, // of a receive: what has arrived
    Bits<"is_receive",     0x1c, 16, 16, bool>,
    Bits<"has_immediate",  0x1c, 17, 17, bool>,
    Bits<"is_solicited",   0x1c, 18, 18, bool>,
    Bits<"phase",          0x1c, 31, 31>>;           // 1 in the first pass of the ring, then 0 and 1 in turn
// clang-format on

} // namespace abi::simple

// Completion queue entry. NVMe base 2.0 "Completion Queue Entry". Little endian, 16 bytes.
// Witness: testbench/witness/nvme_test.cpp (nvme/types.h of libnvme).
#pragma once

#include "abi/layout.h"
#include "abi/nvme/status.h"

namespace abi::nvme {

// clang-format off
using Completion = LittleLayout<"nvme_cqe", 16,
    U32 <"dw0",    0x00>,                  // the command's result
    U32 <"dw1",    0x04>,
    U16 <"sqhd",   0x08>,                  // head of the submission queue when this was written
    U16 <"sqid",   0x0a>,
    Bits<"cid",    0x0c, 15,  0, std::uint16_t>,
    Bits<"p",      0x0c, 16, 16, bool>,    // phase: flips on each pass of the queue
    Bits<"status", 0x0c, 27, 17, Status>,  // type and code
    Bits<"crd",    0x0c, 29, 28>,          // which of CRDT1..3 to wait before a retry; 0: none
    Bits<"m",      0x0c, 30, 30, bool>,    // the error log says more
    Bits<"dnr",    0x0c, 31, 31, bool>>;   // a retry would fail, too
// clang-format on

} // namespace abi::nvme

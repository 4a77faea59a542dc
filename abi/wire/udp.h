// UDP (RFC 768) as RoCEv2 carries it (IBA annex A17): destination port 4791, source port chosen per flow for ECMP.
// Witness: testbench/witness/check_capture.py (tshark finds the RoCE dissector by this port).
#pragma once

#include "abi/layout.h"

namespace abi::wire {

inline constexpr std::uint16_t roce_v2_port = 4791;

// clang-format off
using Udp = Layout<"udp", 8,
    U16<"source_port",      0x0>,
    U16<"destination_port", 0x2>,
    U16<"length",           0x4>,  // bytes, this header included
    U16<"checksum",         0x6>>; // 0: none, which RoCEv2 uses over both IP versions since the ICRC protects more
// clang-format on

} // namespace abi::wire

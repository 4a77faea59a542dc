// The Ethernet header in front of a RoCEv2 datagram (IEEE 802.3). Describes the bytes only: no VLAN tag, no FCS, since
// the frames of this simulator end where a capture's do. Big endian, 14 bytes. Witness:
// testbench/witness/check_capture.py (tshark's Ethernet dissector).
#pragma once

#include "abi/layout.h"

namespace abi::wire {

enum class EtherType : std::uint16_t { ipv4 = 0x0800, ipv6 = 0x86dd };

// clang-format off
using Ethernet = Layout<"ethernet", 14,
    Raw<"destination", 0x0, 6>,
    Raw<"source",      0x6, 6>,
    U16<"type",        0xc>>;
// clang-format on

inline constexpr std::size_t ethernet_min_frame = 60; ///< bytes without FCS; shorter ones are padded with zeros
/// What a frame costs on the medium besides its bytes here: preamble and start delimiter 8, FCS 4, inter-packet gap 12.
inline constexpr std::size_t ethernet_overhead = 24;

} // namespace abi::wire

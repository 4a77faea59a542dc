// IPv4 (RFC 791, no options) and IPv6 (RFC 8200, no extension headers) as RoCEv2 carries them (IBA annex A17), and the
// Internet checksum (RFC 1071). Describes the bytes only.
// Witness: testbench/witness/check_capture.py (tshark verifies the checksum).
#pragma once

#include "abi/layout.h"

namespace abi::wire {

inline constexpr std::uint8_t ip_protocol_udp = 17;
/// The lower bits of the TOS or of the traffic class (RFC 3168): 0 cannot be marked.
inline constexpr std::uint8_t ecn_mask = 3, ecn_can_be_marked = 2, ecn_is_marked = 3;

// clang-format off
using Ipv4 = Layout<"ipv4", 20,
    Bits<"version",         0x00, 31, 28>,
    Bits<"ihl",             0x00, 27, 24>, // header length in dwords: 5
    Bits<"tos",             0x00, 23, 16>, // DSCP << 2 | ECN
    Bits<"total_length",    0x00, 15,  0>, // bytes, this header included
    Bits<"identification",  0x04, 31, 16>,
    Bits<"dont_fragment",   0x04, 14>,
    Bits<"more_fragments",  0x04, 13>,
    Bits<"fragment_offset", 0x04, 12,  0>,
    Bits<"ttl",             0x08, 31, 24>,
    Bits<"protocol",        0x08, 23, 16>,
    Bits<"checksum",        0x08, 15,  0>,
    Raw <"source",          0x0c, 4>,
    Raw <"destination",     0x10, 4>>;

using Ipv6 = Layout<"ipv6", 40,
    Bits<"version",        0x00, 31, 28>,
    Bits<"traffic_class",  0x00, 27, 20>,
    Bits<"flow_label",     0x00, 19,  0>,
    Bits<"payload_length", 0x04, 31, 16>, // bytes behind this header
    Bits<"next_header",    0x04, 15,  8>,
    Bits<"hop_limit",      0x04,  7,  0>,
    Raw <"source",         0x08, 16>,
    Raw <"destination",    0x18, 16>>;
// clang-format on

/// Adds `bytes` to a ones' complement sum. Only the last part of a sum may have an odd length.
constexpr std::uint64_t internet_sum(std::span<const std::byte> bytes, std::uint64_t sum = 0) {
    std::size_t i = 0;
    for (; i + 1 < bytes.size(); i += 2)
        sum += load<std::uint16_t, Endian::big>(bytes.data() + i);
    if (i < bytes.size())
        sum += std::to_integer<std::uint64_t>(bytes[i]) << 8;
    return sum;
}

/// Folds a sum to 16 bits: 0xffff over bytes that contain their own correct checksum.
constexpr std::uint16_t internet_fold(std::uint64_t sum) {
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(sum);
}

/// The value for a checksum field that was zero in `bytes`.
constexpr std::uint16_t internet_checksum(std::span<const std::byte> bytes) {
    return static_cast<std::uint16_t>(~internet_fold(internet_sum(bytes)));
}

} // namespace abi::wire

// InfiniBand headers (IBA chapters 7, 8 and 9): local and global route header, base and extended transport headers, the
// values of the AETH syndrome and the codes of MTUs and RNR timers. Describes the bytes only.
// Witness: testbench/witness/check_capture.py (tshark's InfiniBand dissector prints every field).
#pragma once

#include "abi/layout.h"
#include "abi/types.h"

namespace abi::wire {

enum class LinkNextHeader : std::uint8_t { raw = 0, ip_raw = 1, local = 2, global = 3 };
inline constexpr std::uint16_t permissive_lid = 0xffff, first_multicast_lid = 0xc000; ///< IBA 4.1.3
inline constexpr std::uint8_t management_lane = 15;  ///< VL15 carries subnet management only (IBA 7.6.3)
inline constexpr std::uint8_t data_lane = 0;         ///< VL0, the one that every port has (IBA 7.6.2)
inline constexpr std::uint8_t ib_next_header = 0x1b; ///< GRH NxtHdr: IBA transport (IBA 8.3)
inline constexpr Qpn subnet_management{0}, general_services{1}, multicast_qpn{0xffffff}; ///< IBA 3.9.4, 10.5.1
inline constexpr std::uint8_t rnr_retry_for_ever = 7; ///< a retry count of RNR NAKs that does not count (IBA 9.7.5.2.8)

// clang-format off
// IBA 7.7 "Local route header"
using Lrh = Layout<"lrh", 8,
    Bits<"vl",            0x0, 31, 28>,
    Bits<"version",       0x0, 27, 24>,
    Bits<"service_level", 0x0, 23, 20>,
    Bits<"next_header",   0x0, 17, 16, LinkNextHeader>,
    Bits<"dlid",          0x0, 15,  0>,
    Bits<"length",        0x4, 26, 16>, // dwords from the LRH to the ICRC, both included
    Bits<"slid",          0x4, 15,  0>>;

// IBA 8.3 "Global route header"
using Grh = Layout<"grh", 40,
    Bits<"version",        0x00, 31, 28>,
    Bits<"traffic_class",  0x00, 27, 20>,
    Bits<"flow_label",     0x00, 19,  0>,
    Bits<"payload_length", 0x04, 31, 16>, // bytes behind the GRH up to the ICRC, included
    Bits<"next_header",    0x04, 15,  8>,
    Bits<"hop_limit",      0x04,  7,  0>,
    Raw <"sgid",           0x08, 16>,
    Raw <"dgid",           0x18, 16>>;

// IBA 9.2 "Base transport header"; FECN and BECN lie in what 1.0 called Resv8a
using Bth = Layout<"bth", 12,
    Bits<"opcode",         0x0, 31, 24>,
    Bits<"solicited",      0x0, 23>,
    Bits<"migrated",       0x0, 22>,
    Bits<"pad_count",      0x0, 21, 20>,
    Bits<"version",        0x0, 19, 16>,
    Bits<"pkey",           0x0, 15,  0>,
    Bits<"fecn",           0x4, 31>,
    Bits<"becn",           0x4, 30>,
    Bits<"destination_qp", 0x4, 23,  0>,
    Bits<"ack_request",    0x8, 31>,
    Bits<"psn",            0x8, 23,  0>>;
// clang-format on
inline constexpr std::size_t bth_resv8a_offset = 4; ///< this whole byte counts as ones in the ICRC

// clang-format off
// IBA 9.3.2 .. 9.3.7
using Deth = Layout<"deth", 8, U32<"qkey", 0x0>, Bits<"source_qp", 0x4, 23, 0>>;
using Reth = Layout<"reth", 16, U64<"address", 0x0>, U32<"rkey", 0x8>, U32<"dma_length", 0xc>>;
using AtomicEth = Layout<"atomic_eth", 28, U64<"address", 0x0>, U32<"rkey", 0x8>, U64<"swap_or_add", 0xc>,
                         U64<"compare", 0x14>>;
using Aeth = Layout<"aeth", 4, Bits<"syndrome", 0x0, 31, 24>, Bits<"msn", 0x0, 23, 0>>;
using AtomicAckEth = Layout<"atomic_ack_eth", 8, U64<"original", 0x0>>;
using ImmDt = Layout<"immdt", 4, U32<"immediate", 0x0>>;
using Ieth = Layout<"ieth", 4, U32<"rkey", 0x0>>;
// IBA annex A14 "Extended reliable connected": the shared receive queue of a request
using XrcEth = Layout<"xrc_eth", 4, Bits<"xrc_srq", 0x0, 23, 0>>;
// clang-format on

inline constexpr std::size_t icrc_bytes = 4, vcrc_bytes = 2;
inline constexpr std::size_t cnp_reserved_bytes = 16; ///< a congestion notification's body (IBA annex A17)
inline constexpr std::size_t max_payload = 4096;      ///< the largest MTU (IBA 7.7.8)

/// AETH syndrome (IBA 9.7.5.1): what bits 6..5 say; bits 4..0 are credits, a timer or a code.
enum class SyndromeKind : std::uint8_t { acknowledge = 0, rnr_nak = 1, reserved = 2, nak = 3 };
/// NAK codes (IBA 9.7.5.2).
enum class NakCode : std::uint8_t {
    psn_sequence_error = 0,
    invalid_request = 1,
    remote_access_error = 2,
    remote_operational_error = 3,
    invalid_rd_request = 4,
};
/// The "invalid" credit count: the responder does no end-to-end flow control.
inline constexpr std::uint8_t no_credits = 0x1f;
constexpr std::uint8_t ack_syndrome(std::uint8_t credits = no_credits) { return credits & 0x1f; }
constexpr std::uint8_t rnr_syndrome(std::uint8_t timer) { return static_cast<std::uint8_t>(0x20 | (timer & 0x1f)); }
constexpr std::uint8_t nak_syndrome(NakCode nak) {
    return static_cast<std::uint8_t>(0x60 | static_cast<std::uint8_t>(nak));
}
constexpr SyndromeKind kind_of(std::uint8_t syndrome) { return static_cast<SyndromeKind>(syndrome >> 5 & 3); }
/// Bits 4..0: the credit count, timer code or NAK code.
constexpr std::uint8_t value_of(std::uint8_t syndrome) { return syndrome & 0x1f; }

/// How long an RNR NAK asks the requester to wait, by timer code, in microseconds (IBA 9.7.5.2.8, table 45).
inline constexpr std::array<std::uint32_t, 32> rnr_timer_us{
    655'360, 10,     20,     30,     40,     60,      80,      120,     160,     240,    320,
    480,     640,    960,    1'280,  1'920,  2'560,   3'840,   5'120,   7'680,   10'240, 15'360,
    20'480,  30'720, 40'960, 61'440, 81'920, 122'880, 163'840, 245'760, 327'680, 491'520};

/// Bytes of an MTU code (IBA 14.2.5.6 "MTU"), or 0 for a reserved one.
constexpr std::uint32_t mtu_bytes(std::uint8_t mtu_code) {
    return mtu_code >= 1 && mtu_code <= 5 ? 128u << mtu_code : 0;
}
/// Code of an MTU in bytes, or 0 where there is none.
constexpr std::uint8_t mtu_code(std::uint32_t bytes) {
    for (std::uint8_t c = 1; c <= 5; ++c)
        if (mtu_bytes(c) == bytes)
            return c;
    return 0;
}

} // namespace abi::wire

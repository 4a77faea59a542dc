// Receives the bytes of a frame and gives the packet they hold, or the first reason to drop them. Checks everything a
// port checks by itself (lengths, versions, checksums, ICRC, VCRC, opcode, padding); whether the packet suits a queue
// pair (P_Key, PSN, MTU, state) is the responder's and requester's business. IBA chapters 7 to 9, annex A17.
#pragma once

#include "model/port/packet.h"
#include "traces/reason.h"

#include "abi/wire/ethernet.h"
#include "abi/wire/ip.h"
#include "abi/wire/udp.h"

#include <cstddef>
#include <expected>
#include <span>
#include <string_view>

namespace model::wire {

enum class DropReason : std::uint8_t {
    truncated,   ///< shorter than the headers that must be there
    ethertype,   ///< neither IPv4 nor IPv6
    ip_version,  ///< the version nibble contradicts the EtherType
    ip_options,  ///< IHL other than 5
    ip_length,   ///< total or payload length contradicts the frame
    ip_fragment, ///< RoCEv2 is never fragmented
    ip_checksum,
    ip_protocol, ///< not UDP
    udp_port,    ///< not 4791
    udp_length,
    udp_checksum, ///< not zero, and wrong
    lrh_version,
    lrh_length,      ///< PktLen contradicts the frame
    raw_packet,      ///< LNH announces no IBA transport
    management_lane, ///< QP0 on another lane than VL15, or another queue pair on VL15
    data_lane,       ///< a data lane that is not operational: every one but VL0
    vcrc_failed,
    grh_version,
    grh_next_header,
    grh_length,
    icrc_failed,
    bth_version,
    opcode_unknown,  ///< reserved, or of a service this port does not speak (RD)
    header_length,   ///< the packet ends inside an extended transport header
    pad_count,       ///< more padding than payload, or padding without payload
    surplus_payload, ///< data behind an operation that carries none
    payload_length,  ///< more than the largest MTU, or not a whole number of dwords with its padding
};

/// What events say of it.
traces::Reason reason(DropReason why);
inline std::string_view name(DropReason why) { return reason(why).text(); }

/// Decodes `image`, as it came off a link whose frames are Ethernet (either RoCEv2 encapsulation: the frame says which
/// IP it has) or InfiniBand. `out` gets the headers the frame has, its payload as a copy, and keeps `out.image`, which
/// `image` may be; other members keep old values as after Packet::clear(). After a refusal the headers and payload of
/// `out` mean nothing.
std::expected<void, DropReason> parse(std::span<const std::byte> image, port::Encapsulation link, port::Packet& out);

/// Whether an Ethernet frame is RoCEv2's, from its first bytes on (frame_front_bytes are enough): an unfragmented UDP
/// datagram to port 4791, over IPv6 or over IPv4 without options, and without a VLAN tag. Whether it is a good one is
/// for parse() to say; everything else is an Ethernet port's.
bool is_roce(std::span<const std::byte> frame);
inline constexpr std::size_t frame_front_bytes =
    abi::wire::Ethernet::size + abi::wire::Ipv6::size + abi::wire::Udp::size;

/// What a plain frame has where an EtherType stands; 0: it ends before that.
std::uint16_t ethertype(const port::Packet& plain_frame);

/// Finds out what has come by a link. The image of an RDMA packet is parsed. A plain frame becomes the RDMA packet
/// whose bytes it has, or stays a plain frame, with what has arrived as its payload. When an RDMA packet was damaged
/// into something that is no RoCEv2, it is refused like any damaged one: a real port sees that by the FCS, which no
/// frame has here.
std::expected<void, DropReason> unpack(port::Packet& packet, port::Encapsulation link);

} // namespace model::wire

// Receives a packet as values and gives its exact frame: RoCEv2 over IPv4 or IPv6 with its Ethernet header (no FCS,
// padded to 60 bytes), or InfiniBand from LRH to VCRC; of a plain frame the bytes it consists of, whatever their
// number. Decides nothing about the transport: opcode, PSN and syndrome are the caller's. IBA chapters 7 to 9, annex
// A17.
#pragma once

#include "model/port/packet.h"

#include "abi/wire/ethernet.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/ip.h"
#include "abi/wire/udp.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace model::wire {

/// Bytes from the BTH to the last extended transport header, by operation; a UD packet has a DETH besides, an XRC
/// request an XRCETH.
inline constexpr auto transport_header_bytes = [] {
    using namespace abi::wire;
    std::array<std::uint8_t, 32> t{};
    for (std::size_t i = 0; i < t.size(); ++i) {
        const auto& o = operations[i];
        t[i] =
            static_cast<std::uint8_t>(Bth::size + (o.has_reth ? Reth::size : 0) + (o.has_atomic ? AtomicEth::size : 0) +
                                      (o.has_aeth ? Aeth::size : 0) + (o.has_atomic_ack ? AtomicAckEth::size : 0) +
                                      (o.has_immediate ? ImmDt::size : 0) + (o.has_invalidate ? Ieth::size : 0));
    }
    return t;
}();

/// Bytes in front of the BTH, by encapsulation; an InfiniBand packet may have a GRH besides.
inline constexpr std::array<std::uint8_t, 3> route_header_bytes{
    abi::wire::Ethernet::size + abi::wire::Ipv4::size + abi::wire::Udp::size,
    abi::wire::Ethernet::size + abi::wire::Ipv6::size + abi::wire::Udp::size, abi::wire::Lrh::size};

/// Zero bytes that fill the payload up to a multiple of four (IBA 9.2.3 "PadCnt").
constexpr std::size_t pad_bytes(std::size_t payload) { return (4 - payload % 4) % 4; }

/// Every request of the XRC service names its shared receive queue (IBA annex A14.5.2).
constexpr bool has_xrc(abi::wire::Service service, const abi::wire::OperationTraits& traits) {
    return service == abi::wire::Service::xrc && traits.is_request();
}

/// Bytes from the BTH up to, without, the ICRC, of an RDMA packet with this operation and payload, and the other
/// headers as `headers` has them.
inline std::size_t transport_length(const port::RdmaHeaders& headers, abi::wire::Operation operation,
                                    std::size_t payload) {
    using abi::wire::Service;
    if (headers.service == Service::cnp)
        return abi::wire::Bth::size + abi::wire::cnp_reserved_bytes;
    return transport_header_bytes[static_cast<std::uint8_t>(operation) & 0x1f] +
           (headers.service == Service::ud ? abi::wire::Deth::size : 0) +
           (has_xrc(headers.service, abi::wire::traits(operation)) ? abi::wire::XrcEth::size : 0) + payload +
           pad_bytes(payload);
}
inline std::size_t transport_length(const port::Packet& packet) {
    return transport_length(packet.rdma(), packet.rdma().operation, packet.payload.size());
}

/// Bytes of the frame of an RDMA packet that is so long on the transport layer.
inline std::size_t framed(const port::Path& path, std::size_t transport) {
    const auto length =
        route_header_bytes[static_cast<std::uint8_t>(path.encapsulation)] + transport + abi::wire::icrc_bytes;
    if (path.encapsulation == port::Encapsulation::infiniband)
        return length + (path.has_grh ? abi::wire::Grh::size : 0) + abi::wire::vcrc_bytes;
    return std::max(length, abi::wire::ethernet_min_frame);
}

/// Bytes of the frame that build() would make.
inline std::size_t frame_length(const port::Packet& packet) {
    if (packet.is_plain_frame()) [[unlikely]]
        return packet.payload.size();
    return framed(packet.path, transport_length(packet));
}

/// The operation of packet number `i` of a train.
inline abi::wire::Operation operation_in(const port::Packet& packet, std::uint32_t i) {
    using abi::wire::Operation;
    if (i == 0)
        return packet.rdma().operation;
    return packet.train.ends_message && i + 1 == packet.train.packets ? Operation::write_last : Operation::write_middle;
}

/// Bytes of all frames of a packet, or a train.
inline std::size_t frames_length(const port::Packet& packet) {
    const auto& train = packet.train;
    if (train.is_one()) [[likely]]
        return frame_length(packet);
    const auto length = [&](std::uint32_t i, std::size_t payload) {
        return framed(packet.path, transport_length(packet.rdma(), operation_in(packet, i), payload));
    };
    const auto last = train.packets - 1;
    return length(0, train.unit) + (last - 1) * length(1, train.unit) +
           length(last, packet.payload.size() - std::size_t{last} * train.unit);
}

/// Bytes in front of a datagram's payload in the receiver's buffer.
inline constexpr std::size_t network_header_bytes = 40;
/// What stands there in an RDMA packet: the global route header or the IPv6 header; an IPv4 header in the last 20 bytes
/// (RoCEv2 annex A17.4.5.1); zeroes where a packet has none of these.
std::array<std::byte, network_header_bytes> network_header(const port::Packet& packet);

/// Writes the frame of `packet` over `image`, whose capacity is kept and which may be the packet's own. The payload of
/// an RDMA packet is at most abi::wire::max_payload bytes and goes with operations that carry one.
void build(const port::Packet& packet, std::vector<std::byte>& image);

} // namespace model::wire

#include "model/wire/builder.h"

#include "abi/wire/icrc.h"
#include "abi/wire/infiniband.h"

namespace model::wire {
namespace {

using namespace abi::wire;
using abi::View;
using Room = std::span<std::byte>;

/// The next `L::size` bytes as a view; `rest` moves behind them.
template <class L> View<L> take(Room& rest) {
    const View<L> view(rest.first(L::size));
    rest = rest.subspan(L::size);
    return view;
}

/// The IPv4 address of a ::ffff:a.b.c.d.
std::array<std::byte, 4> ipv4_of(const port::Gid& gid) { return {gid[12], gid[13], gid[14], gid[15]}; }

void put_ethernet(const port::Path& path, EtherType type, Room& rest) {
    take<Ethernet>(rest)
        .set<"destination">(path.destination_mac)
        .set<"source">(path.source_mac)
        .set<"type">(static_cast<std::uint16_t>(type));
}

void put_ipv4(const port::Path& path, std::size_t datagram, Room& rest) {
    const auto ip = take<Ipv4>(rest);
    ip.set<"version">(4)
        .set<"ihl">(5)
        .set<"tos">(path.traffic_class)
        .set<"total_length">(static_cast<std::uint32_t>(Ipv4::size + datagram))
        .set<"dont_fragment">(1)
        .set<"ttl">(path.hop_limit)
        .set<"protocol">(ip_protocol_udp)
        .set<"source">(ipv4_of(path.source_gid))
        .set<"destination">(ipv4_of(path.destination_gid));
    ip.set<"checksum">(internet_checksum(ip.bytes()));
}

void put_ipv6(const port::Path& path, std::size_t datagram, Room& rest) {
    take<Ipv6>(rest)
        .set<"version">(6)
        .set<"traffic_class">(path.traffic_class)
        .set<"flow_label">(path.flow_label)
        .set<"payload_length">(static_cast<std::uint32_t>(datagram))
        .set<"next_header">(ip_protocol_udp)
        .set<"hop_limit">(path.hop_limit)
        .set<"source">(path.source_gid)
        .set<"destination">(path.destination_gid);
}

void put_udp(const port::Path& path, std::size_t datagram, Room& rest) {
    take<Udp>(rest)
        .set<"source_port">(path.udp_source_port)
        .set<"destination_port">(roce_v2_port)
        .set<"length">(static_cast<std::uint16_t>(datagram));
}

void put_grh(const port::Path& path, std::size_t length, Room& rest) {
    take<Grh>(rest)
        .set<"version">(6)
        .set<"traffic_class">(path.traffic_class)
        .set<"flow_label">(path.flow_label)
        .set<"payload_length">(static_cast<std::uint32_t>(length))
        .set<"next_header">(ib_next_header)
        .set<"hop_limit">(path.hop_limit)
        .set<"sgid">(path.source_gid)
        .set<"dgid">(path.destination_gid);
}

/// BTH, extended headers in the order of IBA 5.2.7, payload and padding.
void put_transport(const port::RdmaHeaders& h, const port::Payload& payload, Room& rest) {
    const auto& traits = h.traits();
    const bool is_cnp = h.service == Service::cnp;
    const auto pad = is_cnp ? 0 : pad_bytes(payload.size());
    take<Bth>(rest)
        .set<"opcode">(code(h.service, h.operation))
        .set<"solicited">(h.solicited)
        .set<"migrated">(h.migrated)
        .set<"pad_count">(static_cast<std::uint32_t>(pad))
        .set<"pkey">(h.pkey)
        .set<"fecn">(h.fecn)
        .set<"becn">(h.becn)
        .set<"destination_qp">(h.destination.value)
        .set<"ack_request">(h.ack_request)
        .set<"psn">(h.psn.value);
    if (is_cnp) {
        rest = rest.subspan(cnp_reserved_bytes);
        return;
    }
    if (h.service == Service::ud)
        take<Deth>(rest).set<"qkey">(h.deth.qkey).set<"source_qp">(h.deth.source_qpn.value);
    if (has_xrc(h.service, traits))
        take<XrcEth>(rest).set<"xrc_srq">(h.xrc_srq);
    if (traits.has_reth)
        take<Reth>(rest).set<"address">(h.reth.address).set<"rkey">(h.reth.rkey.value).set<"dma_length">(h.reth.length);
    if (traits.has_atomic)
        take<AtomicEth>(rest)
            .set<"address">(h.atomic.address)
            .set<"rkey">(h.atomic.rkey.value)
            .set<"swap_or_add">(h.atomic.swap_or_add)
            .set<"compare">(h.atomic.compare);
    if (traits.has_aeth)
        take<Aeth>(rest).set<"syndrome">(h.aeth.syndrome).set<"msn">(h.aeth.msn);
    if (traits.has_atomic_ack)
        take<AtomicAckEth>(rest).set<"original">(h.atomic_original);
    if (traits.has_immediate)
        take<ImmDt>(rest).set<"immediate">(h.immediate);
    if (traits.has_invalidate)
        take<Ieth>(rest).set<"rkey">(h.invalidate.value);
    payload.copy_to(rest);
    rest = rest.subspan(payload.size() + pad);
}

/// CRCs go out low byte first (IBA 7.8.1: "in order from the coefficient of the highest term").
void put_icrc(std::uint32_t icrc, Room& rest) {
    abi::store<std::uint32_t, abi::Endian::little>(rest.data(), icrc);
    rest = rest.subspan(icrc_bytes);
}

} // namespace

std::array<std::byte, network_header_bytes> network_header(const port::Packet& packet) {
    std::array<std::byte, network_header_bytes> header{};
    const auto& path = packet.path;
    const auto tail = transport_length(packet) + icrc_bytes;
    Room rest(header);
    if (path.encapsulation == port::Encapsulation::roce_v2_ipv6) {
        put_ipv6(path, Udp::size + tail, rest);
    } else if (path.encapsulation == port::Encapsulation::roce_v2_ipv4) {
        rest = rest.last(Ipv4::size);
        put_ipv4(path, Udp::size + tail, rest);
    } else if (path.has_grh) {
        put_grh(path, tail, rest);
    }
    return header;
}

void build(const port::Packet& packet, std::vector<std::byte>& image) {
    if (packet.is_plain_frame()) [[unlikely]] {
        image.resize(packet.payload.size());
        packet.payload.copy_to(image);
        return;
    }
    assert(packet.payload.size() <= max_payload && "a payload is at most the largest MTU");
    assert((packet.payload.is_empty() || packet.traits().has_payload) && "this operation carries no payload");
    const auto& path = packet.path;
    const auto tail = transport_length(packet) + icrc_bytes;
    image.assign(frame_length(packet), std::byte{});
    Room rest(image);

    if (path.encapsulation == port::Encapsulation::infiniband) {
        const auto to_icrc = Room(image).first(image.size() - vcrc_bytes);
        take<Lrh>(rest)
            .set<"vl">(packet.rdma().destination == subnet_management ? management_lane : data_lane)
            .set<"service_level">(path.service_level)
            .set<"next_header">(path.has_grh ? LinkNextHeader::global : LinkNextHeader::local)
            .set<"dlid">(path.destination_lid)
            .set<"length">(static_cast<std::uint32_t>(to_icrc.size() / 4))
            .set<"slid">(path.source_lid);
        if (path.has_grh)
            put_grh(path, tail, rest);
        put_transport(packet.rdma(), packet.payload, rest);
        put_icrc(icrc_infiniband(to_icrc.first(to_icrc.size() - icrc_bytes)), rest);
        abi::store<std::uint16_t, abi::Endian::little>(rest.data(), vcrc(to_icrc));
        return;
    }

    const bool is_ipv6 = path.encapsulation == port::Encapsulation::roce_v2_ipv6;
    const auto datagram = Udp::size + tail;
    put_ethernet(path, is_ipv6 ? EtherType::ipv6 : EtherType::ipv4, rest);
    const auto ip = rest;
    if (is_ipv6)
        put_ipv6(path, datagram, rest);
    else
        put_ipv4(path, datagram, rest);
    put_udp(path, datagram, rest);
    put_transport(packet.rdma(), packet.payload, rest);
    put_icrc(icrc_roce_v2(ip.first(ip.size() - rest.size()), is_ipv6), rest);
}

} // namespace model::wire

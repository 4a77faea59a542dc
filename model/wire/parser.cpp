#include "model/wire/parser.h"

#include <algorithm>

#include "abi/wire/infiniband.h"
#include "model/wire/builder.h"

#include "abi/wire/icrc.h"

namespace model::wire {
namespace {

using namespace abi::wire;
using abi::ConstView;
using Bytes = std::span<const std::byte>;
using Checked = std::expected<void, DropReason>;
using enum DropReason;

std::unexpected<DropReason> drop(DropReason reason) { return std::unexpected(reason); }

/// The next `L::size` bytes as a view; `rest`, which has them, moves behind them.
template <class L> ConstView<L> take(Bytes& rest) {
    const ConstView<L> view(rest.first(L::size));
    rest = rest.subspan(L::size);
    return view;
}

port::Gid mapped(const std::array<std::byte, 4>& ipv4) {
    port::Gid gid{};
    gid[10] = gid[11] = std::byte{0xff};
    std::copy(ipv4.begin(), ipv4.end(), gid.begin() + 12);
    return gid;
}

/// Whether the last four bytes of `bytes` are `icrc`.
bool ends_with(Bytes bytes, std::uint32_t icrc) {
    return abi::load<std::uint32_t, abi::Endian::little>(bytes.last(icrc_bytes).data()) == icrc;
}

/// Reads the IPv4 header; `rest` becomes what the datagram holds behind it.
Checked read_ipv4(Bytes& rest, port::Path& path) {
    if (rest.size() < Ipv4::size)
        return drop(truncated);
    auto datagram = rest;
    const auto ip = take<Ipv4>(rest);
    const auto length = ip.get<"total_length">();
    if (ip.get<"version">() != 4)
        return drop(ip_version);
    if (ip.get<"ihl">() != 5)
        return drop(ip_options);
    if (internet_fold(internet_sum(ip.bytes())) != 0xffff)
        return drop(ip_checksum);
    if (length < Ipv4::size || length > datagram.size())
        return drop(ip_length);
    if (ip.get<"more_fragments">() != 0 || ip.get<"fragment_offset">() != 0)
        return drop(ip_fragment);
    if (ip.get<"protocol">() != ip_protocol_udp)
        return drop(ip_protocol);
    rest = datagram.first(length).subspan(Ipv4::size);
    path.encapsulation = port::Encapsulation::roce_v2_ipv4;
    path.traffic_class = static_cast<std::uint8_t>(ip.get<"tos">());
    path.hop_limit = static_cast<std::uint8_t>(ip.get<"ttl">());
    path.source_gid = mapped(ip.get<"source">());
    path.destination_gid = mapped(ip.get<"destination">());
    return {};
}

/// Reads the IPv6 header; `rest` becomes what the datagram holds behind it.
Checked read_ipv6(Bytes& rest, port::Path& path) {
    if (rest.size() < Ipv6::size)
        return drop(truncated);
    const auto ip = take<Ipv6>(rest);
    const auto length = ip.get<"payload_length">();
    if (ip.get<"version">() != 6)
        return drop(ip_version);
    if (length > rest.size())
        return drop(ip_length);
    if (ip.get<"next_header">() != ip_protocol_udp)
        return drop(ip_protocol);
    rest = rest.first(length);
    path.encapsulation = port::Encapsulation::roce_v2_ipv6;
    path.traffic_class = static_cast<std::uint8_t>(ip.get<"traffic_class">());
    path.flow_label = ip.get<"flow_label">();
    path.hop_limit = static_cast<std::uint8_t>(ip.get<"hop_limit">());
    path.source_gid = ip.get<"source">();
    path.destination_gid = ip.get<"destination">();
    return {};
}

/// Verifies a UDP checksum that its sender did not leave out (RFC 768, RFC 8200 8.1). `addresses`: both, as they stand
/// in the IP header.
bool is_udp_intact(Bytes addresses, Bytes udp) {
    const auto sum = internet_sum(udp, internet_sum(addresses, ip_protocol_udp + udp.size()));
    return internet_fold(sum) == 0xffff;
}

/// Reads the transport part; `rest` is from the BTH up to, without, the ICRC.
Checked read_transport(Bytes rest, port::RdmaHeaders& out, port::Payload& payload) {
    const auto bth = take<Bth>(rest);
    if (bth.get<"version">() != 0)
        return drop(bth_version);
    const auto opcode_byte = static_cast<std::uint8_t>(bth.get<"opcode">());
    out.service = service_of(opcode_byte);
    out.operation = operation_of(opcode_byte);
    if (!is_defined(out.service, out.operation))
        return drop(opcode_unknown);
    out.solicited = bth.get<"solicited">() != 0;
    out.migrated = bth.get<"migrated">() != 0;
    out.pkey = static_cast<std::uint16_t>(bth.get<"pkey">());
    out.fecn = bth.get<"fecn">() != 0;
    out.becn = bth.get<"becn">() != 0;
    out.destination = abi::Qpn{bth.get<"destination_qp">()};
    out.ack_request = bth.get<"ack_request">() != 0;
    out.psn = abi::Psn{bth.get<"psn">()};
    payload.clear();
    const std::size_t pad = bth.get<"pad_count">();

    if (out.service == Service::cnp) {
        if (rest.size() != cnp_reserved_bytes || pad != 0)
            return drop(payload_length);
        return {};
    }
    const auto& traits = out.traits();
    const auto headers = transport_header_bytes[static_cast<std::uint8_t>(out.operation)] - Bth::size +
                         (out.service == Service::ud ? Deth::size : 0) +
                         (has_xrc(out.service, traits) ? XrcEth::size : 0);
    if (rest.size() < headers)
        return drop(header_length);
    if (out.service == Service::ud) {
        const auto deth = take<Deth>(rest);
        out.deth = {deth.get<"qkey">(), abi::Qpn{deth.get<"source_qp">()}};
    }
    if (has_xrc(out.service, traits))
        out.xrc_srq = take<XrcEth>(rest).get<"xrc_srq">();
    if (traits.has_reth) {
        const auto reth = take<Reth>(rest);
        out.reth = {reth.get<"address">(), abi::Key{reth.get<"rkey">()}, reth.get<"dma_length">()};
    }
    if (traits.has_atomic) {
        const auto atomic = take<AtomicEth>(rest);
        out.atomic = {atomic.get<"address">(), abi::Key{atomic.get<"rkey">()}, atomic.get<"swap_or_add">(),
                      atomic.get<"compare">()};
    }
    if (traits.has_aeth) {
        const auto aeth = take<Aeth>(rest);
        out.aeth = {static_cast<std::uint8_t>(aeth.get<"syndrome">()), aeth.get<"msn">()};
    }
    if (traits.has_atomic_ack)
        out.atomic_original = take<AtomicAckEth>(rest).get<"original">();
    if (traits.has_immediate)
        out.immediate = take<ImmDt>(rest).get<"immediate">();
    if (traits.has_invalidate)
        out.invalidate = abi::Key{take<Ieth>(rest).get<"rkey">()};

    if (!traits.has_payload && !rest.empty())
        return drop(surplus_payload);
    if (pad > rest.size())
        return drop(pad_count);
    if (rest.size() % 4 != 0 || rest.size() - pad > max_payload)
        return drop(payload_length);
    payload.append_copy(rest.first(rest.size() - pad));
    return {};
}

Checked parse_ethernet(Bytes rest, port::Packet& out) {
    if (rest.size() < Ethernet::size)
        return drop(truncated);
    const auto ethernet = take<Ethernet>(rest);
    out.path.destination_mac = ethernet.get<"destination">();
    out.path.source_mac = ethernet.get<"source">();
    const auto type = static_cast<EtherType>(ethernet.get<"type">());
    if (type != EtherType::ipv4 && type != EtherType::ipv6)
        return drop(ethertype);
    const bool is_ipv6 = type == EtherType::ipv6;
    const auto ip = rest;
    if (const auto read = is_ipv6 ? read_ipv6(rest, out.path) : read_ipv4(rest, out.path); !read)
        return read;
    const auto header = is_ipv6 ? Ipv6::size : Ipv4::size;
    const auto datagram = ip.first(header + rest.size()); // without Ethernet's padding

    if (rest.size() < Udp::size)
        return drop(truncated);
    const auto udp_bytes = rest;
    const auto udp = take<Udp>(rest);
    if (udp.get<"destination_port">() != roce_v2_port)
        return drop(udp_port);
    if (udp.get<"length">() != udp_bytes.size())
        return drop(udp_length);
    const auto addresses = is_ipv6 ? datagram.subspan(Ipv6::field<"source">::offset, 32)
                                   : datagram.subspan(Ipv4::field<"source">::offset, 8);
    if (udp.get<"checksum">() != 0 && !is_udp_intact(addresses, udp_bytes))
        return drop(udp_checksum);
    out.path.udp_source_port = udp.get<"source_port">();

    if (rest.size() < Bth::size + icrc_bytes)
        return drop(truncated);
    if (!ends_with(datagram, icrc_roce_v2(datagram.first(datagram.size() - icrc_bytes), is_ipv6)))
        return drop(icrc_failed);
    return read_transport(rest.first(rest.size() - icrc_bytes), out.rdma(), out.payload);
}

Checked parse_infiniband(Bytes image, port::Packet& out) {
    if (image.size() < Lrh::size + Bth::size + icrc_bytes + vcrc_bytes)
        return drop(truncated);
    const auto to_icrc = image.first(image.size() - vcrc_bytes);
    if (abi::load<std::uint16_t, abi::Endian::little>(image.last(vcrc_bytes).data()) != abi::wire::vcrc(to_icrc))
        return drop(vcrc_failed);
    auto rest = to_icrc;
    const auto lrh = take<Lrh>(rest);
    if (lrh.get<"version">() != 0)
        return drop(lrh_version);
    if (lrh.get<"length">() * std::size_t{4} != to_icrc.size())
        return drop(lrh_length);
    const auto lane = lrh.get<"vl">();
    const bool is_management = lane == abi::wire::management_lane;
    if (!is_management && lane != abi::wire::data_lane) // IBA 7.4: OperationalVLs of a port is VL0, always
        return drop(DropReason::data_lane);
    const auto next = lrh.get<"next_header">();
    if (next != LinkNextHeader::local && next != LinkNextHeader::global)
        return drop(raw_packet);
    auto& path = out.path;
    path.encapsulation = port::Encapsulation::infiniband;
    path.service_level = static_cast<std::uint8_t>(lrh.get<"service_level">());
    path.source_lid = static_cast<std::uint16_t>(lrh.get<"slid">());
    path.destination_lid = static_cast<std::uint16_t>(lrh.get<"dlid">());
    path.has_grh = next == LinkNextHeader::global;
    if (path.has_grh) {
        if (rest.size() < Grh::size + Bth::size + icrc_bytes)
            return drop(truncated);
        const auto grh = take<Grh>(rest);
        if (grh.get<"version">() != 6)
            return drop(grh_version);
        if (grh.get<"next_header">() != ib_next_header)
            return drop(grh_next_header);
        if (grh.get<"payload_length">() != rest.size())
            return drop(grh_length);
        path.traffic_class = static_cast<std::uint8_t>(grh.get<"traffic_class">());
        path.flow_label = grh.get<"flow_label">();
        path.hop_limit = static_cast<std::uint8_t>(grh.get<"hop_limit">());
        path.source_gid = grh.get<"sgid">();
        path.destination_gid = grh.get<"dgid">();
    }
    if (!ends_with(to_icrc, icrc_infiniband(to_icrc.first(to_icrc.size() - icrc_bytes))))
        return drop(icrc_failed);
    const auto checked = read_transport(rest.first(rest.size() - icrc_bytes), out.rdma(), out.payload);
    // IBA 9.8.3.1: QP0 is reached over VL15 only, and nothing else is.
    if (checked && is_management != (out.rdma().destination == abi::wire::subnet_management))
        return drop(DropReason::management_lane);
    return checked;
}

} // namespace

traces::Reason reason(DropReason why) {
    struct Row {
        DropReason why;
        traces::Reason said;
    };
    static constexpr auto rows = std::to_array<Row>({
        {truncated, "frame too short for its headers"},
        {DropReason::ethertype, "EtherType is neither IPv4 nor IPv6"},
        {ip_version, "IP version contradicts the EtherType"},
        {ip_options, "IPv4 options in a RoCEv2 packet"},
        {ip_length, "IP length contradicts the frame"},
        {ip_fragment, "fragment of an IPv4 datagram"},
        {ip_checksum, "bad IPv4 header checksum"},
        {ip_protocol, "IP payload is not UDP"},
        {udp_port, "UDP port is not 4791"},
        {udp_length, "UDP length contradicts the IP length"},
        {udp_checksum, "bad UDP checksum"},
        {lrh_version, "unknown LRH version"},
        {lrh_length, "LRH length contradicts the frame"},
        {raw_packet, "raw packet: no IBA transport"},
        {management_lane, "VL15 and QP0 belong to each other"},
        {DropReason::data_lane, "data on a VL that is not operational"},
        {vcrc_failed, "bad VCRC"},
        {grh_version, "GRH version is not 6"},
        {grh_next_header, "GRH next header is not IBA transport"},
        {grh_length, "GRH length contradicts the packet"},
        {icrc_failed, "bad ICRC"},
        {bth_version, "unknown BTH version"},
        {opcode_unknown, "reserved or unsupported opcode"},
        {header_length, "packet ends inside a transport header"},
        {pad_count, "pad count exceeds the payload"},
        {surplus_payload, "payload behind an operation that carries none"},
        {payload_length, "payload length is impossible"},
    });
    static_assert(rows.size() == static_cast<std::size_t>(payload_length) + 1, "each reason has a row");
    static_assert(
        std::ranges::all_of(rows, [](const Row& row) { return &row == &rows[static_cast<std::size_t>(row.why)]; }),
        "each row stands at its reason's place");
    return rows[static_cast<std::size_t>(why)].said;
}

std::expected<void, DropReason> parse(std::span<const std::byte> image, port::Encapsulation link, port::Packet& out) {
    out.become_rdma();
    out.path = {};
    return link == port::Encapsulation::infiniband ? parse_infiniband(image, out) : parse_ethernet(image, out);
}

bool is_roce(std::span<const std::byte> frame) {
    if (frame.size() < Ethernet::size)
        return false;
    const auto type = static_cast<EtherType>(take<Ethernet>(frame).get<"type">());
    if (type == EtherType::ipv4) {
        if (frame.size() < Ipv4::size)
            return false;
        const auto ip = take<Ipv4>(frame);
        if (ip.get<"version">() != 4 || ip.get<"ihl">() != 5 || ip.get<"protocol">() != ip_protocol_udp ||
            ip.get<"more_fragments">() != 0 || ip.get<"fragment_offset">() != 0)
            return false;
    } else if (type == EtherType::ipv6) {
        if (frame.size() < Ipv6::size)
            return false;
        const auto ip = take<Ipv6>(frame);
        if (ip.get<"version">() != 6 || ip.get<"next_header">() != ip_protocol_udp)
            return false;
    } else {
        return false;
    }
    return frame.size() >= Udp::size && take<Udp>(frame).get<"destination_port">() == roce_v2_port;
}

std::uint16_t ethertype(const port::Packet& plain_frame) {
    std::array<std::byte, Ethernet::size> header;
    const auto begin = plain_frame.payload.copy_front_to(header);
    return begin.size() < header.size() ? std::uint16_t{0} : ConstView<Ethernet>(begin).get<"type">();
}

std::expected<void, DropReason> unpack(port::Packet& packet, port::Encapsulation link) {
    if (packet.is_plain_frame()) {
        std::array<std::byte, frame_front_bytes> front;
        const bool has_image = !packet.image.empty(); // it is what has arrived, whatever the payload was
        const auto begin = has_image ? Bytes(packet.image) : Bytes(packet.payload.copy_front_to(front));
        if (link != port::Encapsulation::infiniband && !is_roce(begin)) {
            if (has_image) {
                packet.payload.clear();
                packet.payload.append_copy(packet.image);
            }
            return {};
        }
        if (!has_image)
            build(packet, packet.image);
        packet.become_rdma();
        packet.rdma() = {};
    } else if (packet.image.empty()) {
        return {};
    }
    return parse(packet.image, link, packet);
}

} // namespace model::wire

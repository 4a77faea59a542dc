#include "traces/monitor/packet.h"

#include "abi/wire/ethernet.h"
#include "abi/wire/icrc.h"
#include "abi/wire/ip.h"
#include "abi/wire/udp.h"

#include <algorithm>

namespace traces::monitor {

using namespace abi::wire;
using abi::ConstView;
using Bytes = std::span<const std::byte>;

namespace {

/// What stands between a link's header and the end of the ICRC, and where the packet goes.
struct Network {
    Bytes transport; ///< from the BTH to the ICRC, both included
    NetworkAddress destination{};
    bool is_whole = false;
};

std::uint32_t icrc_at(Bytes end) { return abi::load<std::uint32_t, abi::Endian::little>(end.data()); }

/// What a port drops besides a broken ICRC, which does not cover these: a wrong checksum of the IPv4 header, or of UDP
/// where there is one (RFC 791, RFC 768, RFC 8200 8.1).
bool has_good_checksums(Bytes datagram, std::size_t ip) {
    constexpr std::uint16_t good = 0xffff;
    if (ip == Ipv4::size && internet_fold(internet_sum(datagram.first(ip))) != good)
        return false;
    const auto udp = datagram.subspan(ip);
    if (ConstView<Udp>(udp).get<"checksum">() == 0)
        return true;
    const std::size_t addresses = ip == Ipv4::size ? 8 : 32; // both, at the header's end
    const auto pseudo = internet_sum(datagram.subspan(ip - addresses, addresses)) + ip_protocol_udp + udp.size();
    return internet_fold(internet_sum(udp, pseudo)) == good;
}

std::optional<Network> roce(Bytes frame) {
    if (frame.size() < Ethernet::size)
        return std::nullopt;
    const auto type = static_cast<EtherType>(ConstView<Ethernet>(frame).get<"type">());
    auto datagram = frame.subspan(Ethernet::size);
    Network out;
    std::size_t ip = 0, length = 0;
    if (type == EtherType::ipv4 && datagram.size() >= Ipv4::size) {
        const ConstView<Ipv4> view(datagram);
        if (view.get<"protocol">() != ip_protocol_udp || view.get<"ihl">() != 5)
            return std::nullopt;
        ip = Ipv4::size, length = view.get<"total_length">();
        out.destination[10] = out.destination[11] = std::byte{0xff};
        std::ranges::copy(view.get<"destination">(), out.destination.begin() + 12);
    } else if (type == EtherType::ipv6 && datagram.size() >= Ipv6::size) {
        const ConstView<Ipv6> view(datagram);
        if (view.get<"next_header">() != ip_protocol_udp)
            return std::nullopt;
        ip = Ipv6::size, length = Ipv6::size + view.get<"payload_length">();
        out.destination = view.get<"destination">();
    } else {
        return std::nullopt;
    }
    if (length > datagram.size() || length < ip + Udp::size + Bth::size + icrc_bytes)
        return std::nullopt;
    datagram = datagram.first(length);
    if (ConstView<Udp>(datagram.subspan(ip)).get<"destination_port">() != roce_v2_port)
        return std::nullopt;
    const auto covered = datagram.first(length - icrc_bytes);
    out.is_whole = icrc_roce_v2(covered, ip == Ipv6::size) == icrc_at(datagram.subspan(covered.size())) &&
                   has_good_checksums(datagram, ip);
    out.transport = datagram.subspan(ip + Udp::size);
    return out;
}

std::optional<Network> infiniband(Bytes packet) {
    if (packet.size() < Lrh::size + vcrc_bytes)
        return std::nullopt;
    const ConstView<Lrh> lrh(packet);
    const auto next = lrh.get<"next_header">();
    const auto route = Lrh::size + (next == LinkNextHeader::global ? Grh::size : 0);
    const std::size_t end = std::size_t{lrh.get<"length">()} * 4;
    if ((next != LinkNextHeader::local && next != LinkNextHeader::global) || end > packet.size() ||
        end < route + Bth::size + icrc_bytes)
        return std::nullopt;
    Network out;
    const auto lid = lrh.get<"dlid">();
    out.destination[14] = static_cast<std::byte>(lid >> 8), out.destination[15] = static_cast<std::byte>(lid);
    const auto covered = packet.first(end - icrc_bytes);
    out.is_whole = icrc_infiniband(covered) == icrc_at(packet.subspan(covered.size()));
    out.transport = packet.subspan(route, end - route);
    return out;
}

/// Takes the next header off the front; nothing where there is no room for it.
template <class Header> std::optional<ConstView<Header>> take(Bytes& bytes) {
    if (bytes.size() < Header::size)
        return std::nullopt;
    const ConstView<Header> view(bytes);
    bytes = bytes.subspan(Header::size);
    return view;
}

} // namespace

std::optional<Packet> read_packet(codec::InterfaceKind kind, Bytes frame) {
    const auto network = kind == codec::InterfaceKind::infiniband ? infiniband(frame) : roce(frame);
    if (!network)
        return std::nullopt;
    auto rest = network->transport.first(network->transport.size() - icrc_bytes);
    const auto bth = *take<Bth>(rest);
    const auto code = static_cast<std::uint8_t>(bth.get<"opcode">());
    Packet out{.service = service_of(code),
               .operation = operation_of(code),
               .destination_qp = abi::Qpn{bth.get<"destination_qp">()},
               .psn = abi::Psn{bth.get<"psn">()},
               .destination = network->destination,
               .is_whole = network->is_whole};
    const auto& traits = out.traits();
    if (!is_defined(out.service, out.operation) || out.service == Service::cnp)
        return std::nullopt;
    if (out.service == Service::ud && !take<Deth>(rest))
        return std::nullopt;
    if (out.service == Service::xrc && traits.is_request() && !take<XrcEth>(rest))
        return std::nullopt;
    if (traits.has_reth) {
        const auto reth = take<Reth>(rest);
        if (!reth)
            return std::nullopt;
        out.remote_address = reth->get<"address">();
        out.rkey = abi::Key{reth->get<"rkey">()};
        out.length = reth->get<"dma_length">();
    }
    if (traits.has_atomic) {
        const auto atomic = take<AtomicEth>(rest);
        if (!atomic)
            return std::nullopt;
        out.remote_address = atomic->get<"address">();
        out.rkey = abi::Key{atomic->get<"rkey">()};
        out.length = 8;
    }
    if (traits.has_aeth) {
        const auto aeth = take<Aeth>(rest);
        if (!aeth)
            return std::nullopt;
        out.syndrome = static_cast<std::uint8_t>(aeth->get<"syndrome">());
    }
    if (traits.has_atomic_ack) {
        const auto answer = take<AtomicAckEth>(rest);
        if (!answer)
            return std::nullopt;
        out.original = answer->get<"original">();
    }
    if (traits.has_immediate && !take<ImmDt>(rest))
        return std::nullopt;
    if (traits.has_invalidate) {
        const auto invalidate = take<Ieth>(rest);
        if (!invalidate)
            return std::nullopt;
        out.invalidates = abi::Key{invalidate->get<"rkey">()};
    }
    const auto pad = bth.get<"pad_count">();
    out.payload_bytes = static_cast<std::uint32_t>(rest.size() < pad ? 0 : rest.size() - pad);
    return out;
}

} // namespace traces::monitor

#include "platform/importer/roce_frame.h"

#include "abi/wire/ethernet.h"
#include "abi/wire/icrc.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/ip.h"
#include "abi/wire/udp.h"
#include "model/wire/builder.h"
#include "model/wire/parser.h"

namespace platform::importer {

using namespace abi::wire;

namespace {

constexpr std::uint16_t vlan_tag = 0x8100, service_tag = 0x88a8; // IEEE 802.1Q
constexpr std::size_t tag_bytes = 4, address_bytes = 12;         // a tag; the two MACs in front of it

} // namespace

/// Copies the frame into image_ without its tags, as long as it was.
FrameKind RoceFrame::strip(const CapturedFrame& frame) {
    const auto type_at = [&](std::size_t at) {
        return at + 2 <= frame.bytes.size() ? abi::load<std::uint16_t, abi::Endian::big>(frame.bytes.data() + at)
                                            : std::uint16_t{0};
    };
    auto type = address_bytes;
    while (type_at(type) == vlan_tag || type_at(type) == service_tag)
        type += tag_bytes;
    if (frame.bytes.size() < type + 2)
        return FrameKind::other;
    image_.assign(frame.bytes.begin(), frame.bytes.begin() + address_bytes);
    image_.insert(image_.end(), frame.bytes.begin() + static_cast<std::ptrdiff_t>(type), frame.bytes.end());
    return FrameKind::packet;
}

FrameKind RoceFrame::read(const CapturedFrame& frame) {
    if (const auto stripped = strip(frame); stripped != FrameKind::packet)
        return stripped;
    if (!model::wire::is_roce(image_)) {
        // Options and fragments: a port of ours takes them for plain frames.
        const bool is_ip =
            image_.size() >= Ethernet::size + Ipv4::size &&
            abi::ConstView<Ethernet>(image_).get<"type">() == static_cast<std::uint16_t>(EtherType::ipv4);
        if (!is_ip)
            return FrameKind::other;
        const abi::ConstView<Ipv4> ip(std::span(std::as_const(image_)).subspan(Ethernet::size));
        const std::size_t begin = Ethernet::size + ip.get<"ihl">() * std::size_t{4};
        const bool is_roce =
            ip.get<"protocol">() == ip_protocol_udp && ip.get<"fragment_offset">() == 0 &&
            image_.size() >= begin + Udp::size &&
            abi::ConstView<Udp>(std::span(std::as_const(image_)).subspan(begin)).get<"destination_port">() ==
                roce_v2_port;
        return is_roce ? FrameKind::malformed : FrameKind::other;
    }
    const bool is_ipv6 = abi::ConstView<Ethernet>(image_).get<"type">() == static_cast<std::uint16_t>(EtherType::ipv6);
    const auto ip_bytes = is_ipv6 ? Ipv6::size : Ipv4::size;
    const auto headers = Ethernet::size + ip_bytes + Udp::size;
    if (image_.size() < headers + Bth::size)
        return FrameKind::cut_short;
    // The datagram's own length says where it ends: behind it stand padding and, in some captures, the FCS.
    const auto ip_begin = std::span(image_).subspan(Ethernet::size);
    const std::size_t datagram = is_ipv6 ? Ipv6::size + abi::ConstView<Ipv6>(ip_begin).get<"payload_length">()
                                         : abi::ConstView<Ipv4>(ip_begin).get<"total_length">();
    if (datagram < ip_bytes + Udp::size + Bth::size + icrc_bytes)
        return FrameKind::malformed;
    is_cut = image_.size() < Ethernet::size + datagram;
    if (is_cut && frame.bytes.size() == frame.original_bytes)
        return FrameKind::malformed;
    const auto captured = image_.size();
    image_.resize(Ethernet::size + datagram);
    // A check sum over what is not there is nobody's fault; a new ICRC makes a good packet of what is.
    abi::View<Udp>(std::span(image_).subspan(Ethernet::size + ip_bytes)).set<"checksum">(0);
    const auto body = std::span(image_).subspan(Ethernet::size, datagram - icrc_bytes);
    const auto icrc = icrc_roce_v2(body, is_ipv6);
    const auto place = image_.data() + Ethernet::size + datagram - icrc_bytes;
    has_good_icrc = !is_cut && abi::load<std::uint32_t, abi::Endian::little>(place) == icrc;
    abi::store<std::uint32_t, abi::Endian::little>(place, icrc);
    if (!is_ipv6) {
        const auto ip = std::span(image_).subspan(Ethernet::size, Ipv4::size);
        abi::View<Ipv4>(ip).set<"checksum">(0);
        abi::View<Ipv4>(ip).set<"checksum">(internet_checksum(ip));
    }
    if (image_.size() < ethernet_min_frame)
        image_.resize(ethernet_min_frame);
    packet.clear();
    if (!model::wire::parse(image_, model::port::Encapsulation::roce_v2_ipv4, packet))
        return FrameKind::malformed;
    // What a zero stands for must not be taken for an address or a length.
    const auto& read = packet.rdma();
    const auto transport = model::wire::transport_header_bytes[static_cast<std::uint8_t>(read.operation) & 0x1f] +
                           (read.service == Service::ud ? Deth::size : 0) +
                           (model::wire::has_xrc(read.service, read.traits()) ? XrcEth::size : 0);
    if (is_cut && captured < headers + transport)
        return FrameKind::cut_short;
    packet.image.clear();
    return FrameKind::packet;
}

} // namespace platform::importer

// Ethernet frames that are no RoCEv2, of each kind one: what a port meets that shares its cable with a network.
#pragma once

#include "abi/wire/ethernet.h"
#include "abi/wire/ip.h"
#include "abi/wire/udp.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace testbench {

using Bytes = std::vector<std::byte>;

struct PlainFrame {
    std::string_view name;
    Bytes bytes;
};

/// `length` bytes with this EtherType and numbers behind it.
inline Bytes ethernet_frame(std::uint16_t ethertype, std::size_t length) {
    using namespace abi::wire;
    Bytes frame(length);
    for (std::size_t i = 0; i < length; ++i)
        frame[i] = static_cast<std::byte>(i);
    abi::View<Ethernet>(std::span(frame))
        .set<"destination">(
            {std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}})
        .set<"source">({std::byte{0x02}, std::byte{}, std::byte{}, std::byte{}, std::byte{}, std::byte{0x07}})
        .set<"type">(ethertype);
    return frame;
}

/// A datagram over IPv4 whose header has `words` dwords. All its lengths and checksums are right.
inline Bytes ipv4_frame(std::uint8_t protocol, std::uint16_t port, std::size_t payload, std::uint32_t words = 5) {
    using namespace abi::wire;
    const auto header = std::size_t{words} * 4, datagram = header + Udp::size + payload;
    auto frame = ethernet_frame(static_cast<std::uint16_t>(EtherType::ipv4), Ethernet::size + datagram);
    const auto ip = std::span(frame).subspan(Ethernet::size);
    for (auto& b : ip.first(header))
        b = std::byte{};
    for (auto& option : ip.first(header).subspan(Ipv4::size))
        option = std::byte{1}; // no operation
    abi::View<Ipv4>(ip)
        .set<"version">(4)
        .set<"ihl">(words)
        .set<"total_length">(static_cast<std::uint32_t>(datagram))
        .set<"ttl">(64)
        .set<"protocol">(protocol)
        .set<"source">({std::byte{10}, std::byte{}, std::byte{}, std::byte{1}})
        .set<"destination">({std::byte{10}, std::byte{}, std::byte{}, std::byte{2}});
    abi::View<Ipv4>(ip).set<"checksum">(internet_checksum(ip.first(header)));
    abi::View<Udp>(ip.subspan(header))
        .set<"source_port">(std::uint16_t{53000})
        .set<"destination_port">(port)
        .set<"length">(static_cast<std::uint16_t>(Udp::size + payload))
        .set<"checksum">(std::uint16_t{0});
    return frame;
}

inline std::vector<PlainFrame> plain_frames() {
    using namespace abi::wire;
    constexpr std::uint16_t arp = 0x0806, vlan = 0x8100, lldp = 0x88cc, roce_v1 = 0x8915, local_experimental = 0x88b5;
    constexpr std::uint8_t tcp = 6;
    const auto ip_at = [](Bytes& frame) { return std::span(frame).subspan(Ethernet::size); };
    std::vector<PlainFrame> all{
        {"ARP", ethernet_frame(arp, 60)},
        {"LLDP", ethernet_frame(lldp, 128)},
        {"RoCEv1", ethernet_frame(roce_v1, 90)},
        {"an EtherType for experiments", ethernet_frame(local_experimental, 64)},
        {"IEEE 802.3 with a length", ethernet_frame(46, 60)},
        {"TCP", ipv4_frame(tcp, roce_v2_port, 100)},
        {"UDP to another port", ipv4_frame(ip_protocol_udp, 53, 100)},
        {"UDP to the next port", ipv4_frame(ip_protocol_udp, roce_v2_port + 1, 100)},
        {"IPv4 with options", ipv4_frame(ip_protocol_udp, roce_v2_port, 100, 6)},
        {"jumbo", ipv4_frame(ip_protocol_udp, 53, 8972)},
        {"longer than any MTU", ethernet_frame(local_experimental, 20000)},
        {"a header and nothing behind it", ethernet_frame(static_cast<std::uint16_t>(EtherType::ipv4), 14)},
    };

    auto tagged = ethernet_frame(vlan, 18); // the tag, and a RoCEv2 datagram of the VLAN behind it
    const auto roce = ipv4_frame(ip_protocol_udp, roce_v2_port, 100);
    abi::store<std::uint16_t, std::endian::big>(tagged.data() + 16, static_cast<std::uint16_t>(EtherType::ipv4));
    tagged.insert(tagged.end(), roce.begin() + Ethernet::size, roce.end());
    all.push_back({"VLAN", tagged});

    auto first_fragment = roce;
    abi::View<Ipv4>(ip_at(first_fragment)).set<"more_fragments">(1);
    all.push_back({"the first fragment of a datagram", first_fragment});
    auto later_fragment = roce;
    abi::View<Ipv4>(ip_at(later_fragment)).set<"fragment_offset">(185);
    all.push_back({"a later fragment of a datagram", later_fragment});
    auto version_6 = roce;
    abi::View<Ipv4>(ip_at(version_6)).set<"version">(6);
    all.push_back({"IPv6 under the EtherType of IPv4", version_6});

    auto ipv6 = ethernet_frame(static_cast<std::uint16_t>(EtherType::ipv6), 100);
    abi::View<Ipv6>(ip_at(ipv6)).set<"version">(6).set<"payload_length">(46).set<"next_header">(58);
    all.push_back({"ICMPv6", ipv6});
    abi::View<Ipv6>(ip_at(ipv6)).set<"next_header">(0);
    all.push_back({"IPv6 with hop-by-hop options", ipv6});
    abi::View<Ipv6>(ip_at(ipv6)).set<"next_header">(ip_protocol_udp);
    abi::View<Udp>(ip_at(ipv6).subspan(Ipv6::size)).set<"destination_port">(std::uint16_t{53});
    all.push_back({"UDP over IPv6 to another port", ipv6});
    abi::View<Udp>(ip_at(ipv6).subspan(Ipv6::size)).set<"destination_port">(roce_v2_port);
    abi::View<Ipv6>(ip_at(ipv6)).set<"version">(4);
    all.push_back({"IPv4 under the EtherType of IPv6", ipv6});

    // Ends before it can be told what it is: within the UDP header, the IP header, the EtherType, and before all of
    // them.
    for (const std::size_t length : {41, 34, 33, 20, 13, 1, 0})
        all.push_back({"too short", Bytes(roce.begin(), roce.begin() + static_cast<std::ptrdiff_t>(length))});
    return all;
}

} // namespace testbench

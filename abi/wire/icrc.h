// The checks at the end of a packet: the invariant CRC over what no switch or router changes (IBA 7.8.1; RoCEv2: annex
// A17), and the variant CRC of one InfiniBand hop (IBA 7.8.2). Takes headers as they stand and masks what may change on
// the way. Both are reflected, start from ones, are complemented and go onto the wire low byte first.
// Witness: icrc_test.cpp (the specification's sample packet, captures of adapters), check_capture.py (scapy, bit by
// bit).
#pragma once

#include "abi/wire/crc32_fold.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/ip.h"
#include "abi/wire/udp.h"

namespace abi::wire {

namespace detail {
/// Eight tables that advance a reflected CRC by one to eight bytes.
template <class T> consteval std::array<std::array<T, 256>, 8> crc_tables(T reflected_polynomial) {
    std::array<std::array<T, 256>, 8> t{};
    for (unsigned i = 0; i < 256; ++i) {
        auto crc = static_cast<T>(i);
        for (int bit = 0; bit < 8; ++bit)
            crc = static_cast<T>(crc & 1 ? crc >> 1 ^ reflected_polynomial : crc >> 1);
        t[0][i] = crc;
    }
    for (unsigned k = 1; k < 8; ++k)
        for (unsigned i = 0; i < 256; ++i)
            t[k][i] = static_cast<T>(t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 0xff]);
    return t;
}
inline constexpr auto crc32_tables = crc_tables<std::uint32_t>(0xedb88320); // 0x04c11db7 reflected
inline constexpr auto crc16_tables = crc_tables<std::uint16_t>(0xd008);     // 0x100b reflected

template <class T>
constexpr T crc_add(const std::array<std::array<T, 256>, 8>& t, std::span<const std::byte> bytes, T crc) {
    const auto* p = bytes.data();
    auto left = bytes.size();
    for (; left >= 8; left -= 8, p += 8) {
        const auto x = load<std::uint64_t, Endian::little>(p) ^ crc;
        crc = static_cast<T>(t[7][x & 0xff] ^ t[6][x >> 8 & 0xff] ^ t[5][x >> 16 & 0xff] ^ t[4][x >> 24 & 0xff] ^
                             t[3][x >> 32 & 0xff] ^ t[2][x >> 40 & 0xff] ^ t[1][x >> 48 & 0xff] ^ t[0][x >> 56]);
    }
    for (; left != 0; --left, ++p)
        crc = static_cast<T>(crc >> 8 ^ t[0][(crc ^ std::to_integer<unsigned>(*p)) & 0xff]);
    return crc;
}
inline constexpr std::byte ones{0xff};
} // namespace detail

/// Advances the CRC-32 register (0xffffffff at the start, complement at the end) by `bytes`.
constexpr std::uint32_t crc32_add(std::span<const std::byte> bytes, std::uint32_t crc) {
    if !consteval {
        if (bytes.size() >= detail::least_folded_bytes && detail::can_fold()) {
            const auto whole = bytes.first(bytes.size() / 16 * 16);
            const auto folded = detail::crc32_fold(whole, crc);
            crc = detail::crc_add(detail::crc32_tables, std::span<const std::byte>(folded), std::uint32_t{0});
            bytes = bytes.subspan(whole.size());
        }
    }
    return detail::crc_add(detail::crc32_tables, bytes, crc);
}

/// ICRC of a RoCEv2 packet. `datagram`: from the IP header up to, without, the ICRC; at least IP, UDP and BTH.
/// Eight bytes of ones stand for the LRH; TOS, TTL and checksum (IPv4) or traffic class, flow label and hop limit
/// (IPv6), the UDP checksum and BTH Resv8a count as ones (IBA annex A17).
constexpr std::uint32_t icrc_roce_v2(std::span<const std::byte> datagram, bool is_ipv6) {
    constexpr std::size_t lrh = Lrh::size;
    std::array<std::byte, lrh + Ipv6::size + Udp::size + Bth::size> head{};
    const auto ip = is_ipv6 ? Ipv6::size : Ipv4::size;
    const auto headers = ip + Udp::size + Bth::size;
    assert(datagram.size() >= headers);
    std::fill_n(head.begin(), lrh, detail::ones);
    std::copy_n(datagram.begin(), headers, head.begin() + lrh);
    const auto at = std::span(head).subspan(lrh);
    if (is_ipv6)
        View<Ipv6>(at).set<"traffic_class">(0xff).set<"flow_label">(0xfffff).set<"hop_limit">(0xff);
    else
        View<Ipv4>(at).set<"tos">(0xff).set<"ttl">(0xff).set<"checksum">(0xffff);
    View<Udp>(at.subspan(ip)).set<"checksum">(0xffff);
    at[ip + Udp::size + bth_resv8a_offset] = detail::ones;
    return ~crc32_add(datagram.subspan(headers), crc32_add(std::span(head).first(lrh + headers), ~0u));
}

/// ICRC of an InfiniBand packet. `packet`: from the LRH up to, without, the ICRC; at least LRH, GRH where the LRH
/// announces one, and BTH. Without a GRH the virtual lane counts as ones; with one the whole LRH and the GRH's traffic
/// class, flow label and hop limit do; BTH Resv8a always (IBA 7.8.1).
constexpr std::uint32_t icrc_infiniband(std::span<const std::byte> packet) {
    std::array<std::byte, Lrh::size + Grh::size + Bth::size> head{};
    const bool is_global = ConstView<Lrh>(packet).get<"next_header">() == LinkNextHeader::global;
    const auto route = Lrh::size + (is_global ? Grh::size : 0);
    const auto headers = route + Bth::size;
    assert(packet.size() >= headers);
    std::copy_n(packet.begin(), headers, head.begin());
    if (is_global) {
        std::fill_n(head.begin(), Lrh::size, detail::ones);
        View<Grh>(std::span(head).subspan(Lrh::size))
            .set<"traffic_class">(0xff)
            .set<"flow_label">(0xfffff)
            .set<"hop_limit">(0xff);
    } else {
        View<Lrh>(std::span(head)).set<"vl">(0xf);
    }
    head[route + bth_resv8a_offset] = detail::ones;
    return ~crc32_add(packet.subspan(headers), crc32_add(std::span(head).first(headers), ~0u));
}

/// VCRC over `packet`: from the LRH to the ICRC, both included.
constexpr std::uint16_t vcrc(std::span<const std::byte> packet) {
    return static_cast<std::uint16_t>(~detail::crc_add(detail::crc16_tables, packet, std::uint16_t{0xffff}));
}

} // namespace abi::wire

#include "model/hca/address/identity.h"

#include "abi/wire/infiniband.h"
#include "model/hca/multicast/groups.h"

#include <algorithm>
#include <bit>

namespace model::hca::address {

namespace {
constexpr std::size_t prefix_bytes = 8;

/// Every port also answers to its GUID under the default prefix, whatever prefix the subnet has (IBA 4.1.1).
bool has_default_prefix(const port::Gid& gid) {
    constexpr std::uint64_t default_prefix = 0xfe80000000000000;
    return abi::load<std::uint64_t, std::endian::big>(gid.data()) == default_prefix;
}
bool is_same_guid(const port::Gid& a, const port::Gid& b) {
    return std::equal(a.begin() + prefix_bytes, a.end(), b.begin() + prefix_bytes);
}
bool names(const port::Gid& in_packet, const port::Gid& gid) {
    return port::is_same(in_packet, gid) || (has_default_prefix(in_packet) && is_same_guid(in_packet, gid));
}
/// The bit by which the address of a group differs from that of a station (IEEE 802 "I/G").
bool is_group(const port::MacAddress& mac) { return (mac[0] & std::byte{1}) != std::byte{}; }

bool covers(std::uint16_t base, std::uint8_t lmc, std::uint16_t to) {
    return base != 0 && base < abi::wire::first_multicast_lid && to >> lmc == base >> lmc;
}
} // namespace

bool Identity::is_own(const queue::AddressPath& to) const {
    if (is_ethernet)
        return to.remote_mac == gids[to.source_index % gids.size()].mac && to.remote_mac != port::MacAddress{};
    return covers(lid, lmc, to.rlid);
}

bool Identity::has_link_address(const port::Packet& packet) const {
    const auto& path = packet.path;
    const bool is_to_group = packet.rdma().destination == multicast::multicast_qpn;
    if (!is_ethernet) {
        // IBA 4.1.3, 7.3: the permissive LID means "this end of the cable" and is for subnet management alone.
        if (path.destination_lid == abi::wire::permissive_lid)
            return packet.rdma().destination == abi::wire::subnet_management;
        if (path.destination_lid >= abi::wire::first_multicast_lid)
            return is_to_group;
        return covers(lid, lmc, path.destination_lid);
    }
    if (is_group(path.destination_mac))
        return is_to_group;
    const auto is_here = [&](const GidEntry& entry) {
        return entry.is_valid && port::is_same(entry.mac, path.destination_mac);
    };
    return is_here(gids[recent_]) || path.destination_mac == mac || std::ranges::any_of(gids, is_here);
}

/// IBA 8.3, 9.6.1: a global route header names a GID of this port, or a group, whose members are looked up elsewhere.
bool Identity::has_network_address(const port::Packet& packet) const {
    const auto& path = packet.path;
    if (packet.rdma().destination == multicast::multicast_qpn)
        return true;
    if (!is_ethernet)
        return !path.has_grh || is_own_gid(path.destination_gid);
    const bool is_ipv4 = path.encapsulation == port::Encapsulation::roce_v2_ipv4;
    const auto is_here = [&](const GidEntry& entry) {
        return entry.is_valid && entry.is_ipv4 == is_ipv4 && port::is_same(entry.gid, path.destination_gid);
    };
    if (is_here(gids[recent_])) [[likely]]
        return true;
    const auto found = std::ranges::find_if(gids, is_here);
    if (found == gids.end())
        return false;
    recent_ = static_cast<std::uint8_t>(found - gids.begin());
    return true;
}

bool Identity::is_own_gid(const port::Gid& gid) const {
    return std::ranges::any_of(gids, [&](const GidEntry& entry) { return entry.is_valid && names(gid, entry.gid); });
}

bool Identity::is_from_peer(const port::Path& own, const port::Path& packet) const {
    if (is_ethernet)
        return packet.encapsulation == own.encapsulation && port::is_same(packet.source_gid, own.destination_gid) &&
               port::is_same(packet.destination_gid, own.source_gid);
    if (packet.source_lid != own.destination_lid || packet.has_grh != own.has_grh)
        return false;
    return !own.has_grh ||
           (names(packet.source_gid, own.destination_gid) && names(packet.destination_gid, own.source_gid));
}

bool Identity::is_in_table(std::uint16_t pkey) const {
    return std::ranges::any_of(pkeys, [pkey](std::uint16_t own) { return matches(pkey, own); });
}

std::uint8_t Identity::path_bits_of(std::uint16_t destination) const {
    return covers(lid, lmc, destination) ? static_cast<std::uint8_t>(destination & ((1u << lmc) - 1)) : std::uint8_t{0};
}

std::uint16_t Identity::source_lid(const queue::AddressPath& to) const {
    // A directed-route packet is from and to "this end of the cable" (IBA 14.2.2.1).
    if (to.rlid == abi::wire::permissive_lid)
        return abi::wire::permissive_lid;
    const auto own_bits = (1u << lmc) - 1;
    return static_cast<std::uint16_t>((lid & ~own_bits) | (to.path_bits & own_bits));
}

port::Path Identity::path(const queue::AddressPath& to, abi::Qpn qpn) const {
    port::Path path;
    path.hop_limit = to.hop_limit;
    path.flow_label = to.flow_label;
    path.destination_gid = to.remote_gid;
    const auto& source = gids[to.source_index % gids.size()];
    path.source_gid = source.gid;
    if (!is_ethernet) {
        path.encapsulation = port::Encapsulation::infiniband;
        path.has_grh = to.grh;
        path.service_level = to.service_level;
        path.traffic_class = to.traffic_class;
        path.source_lid = source_lid(to);
        path.destination_lid = to.rlid;
        return path;
    }
    path.encapsulation = source.is_ipv4 ? port::Encapsulation::roce_v2_ipv4 : port::Encapsulation::roce_v2_ipv6;
    path.traffic_class = static_cast<std::uint8_t>(to.dscp << 2 | to.ecn);
    path.source_mac = source.mac;
    path.destination_mac = to.remote_mac;
    // RoCEv2 annex A17.9.2: the source port carries entropy for the path; without one from software, one per queue
    // pair.
    constexpr std::uint16_t first_port = 0xc000;
    path.udp_source_port = to.udp_source_port != 0
                               ? to.udp_source_port
                               : static_cast<std::uint16_t>(first_port | (qpn.value ^ qpn.value >> 8) % 0x3fff);
    return path;
}

} // namespace model::hca::address

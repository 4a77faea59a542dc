// Where a queue pair sends to: the address path of both kinds of port, and what one end tells the other to connect (IBA
// 12). Plain data; resolves no address.
#pragma once

#include "abi/types.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sw::verbs {

using Gid = std::array<std::byte, 16>;
using Mac = std::array<std::byte, 6>;

/// The GID of an IPv4 address, ::ffff:a.b.c.d (RoCEv2 annex A17.4.5).
constexpr Gid gid_of_ipv4(std::uint32_t address) {
    Gid gid{};
    gid[10] = gid[11] = std::byte{0xff};
    for (unsigned i = 0; i < 4; ++i)
        gid[12 + i] = static_cast<std::byte>(address >> (24 - 8 * i) & 0xff);
    return gid;
}
/// A link-local or prefixed GID of an InfiniBand port.
constexpr Gid gid_of(std::uint64_t prefix, std::uint64_t guid) {
    Gid gid{};
    for (unsigned i = 0; i < 8; ++i) {
        gid[i] = static_cast<std::byte>(prefix >> (56 - 8 * i) & 0xff);
        gid[8 + i] = static_cast<std::byte>(guid >> (56 - 8 * i) & 0xff);
    }
    return gid;
}
constexpr Mac mac_of(std::uint64_t address) {
    Mac mac{};
    for (unsigned i = 0; i < 6; ++i)
        mac[i] = static_cast<std::byte>(address >> (40 - 8 * i) & 0xff);
    return mac;
}

struct AddressPath {
    bool is_ethernet = true;
    std::uint8_t port = 1;
    // Ethernet: all of these. InfiniBand: only with `has_grh`.
    Gid remote_gid{};
    std::uint8_t source_gid_index = 0;
    std::uint8_t hop_limit = 64;
    std::uint8_t traffic_class = 0;
    std::uint32_t flow_label = 0;
    // Ethernet
    Mac remote_mac{};
    std::uint16_t udp_source_port = 0xc000;
    // InfiniBand
    bool has_grh = false;
    std::uint16_t remote_lid = 0;
    std::uint8_t source_path_bits = 0;
    // Both: service level, on Ethernet the priority
    std::uint8_t service_level = 0;
};

/// What one end must know of the other to connect: exchanged by the programs, out of band.
struct Peer {
    AddressPath path{};
    abi::Qpn qpn{};
    abi::Psn psn{};           ///< of the first packet it will send
    std::uint8_t reads = 128; ///< READs and atomics it answers at once (Context::reads_answered)
};

} // namespace sw::verbs

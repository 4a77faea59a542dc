// Who the port is: its MAC, LID, GID / RoCE address table and P_Keys; how a queue pair's address path becomes the
// header addresses of its packets, and which packets are for this port (PRM "RoCE address table";
// IBA 4.1, 7.3, 9.6.1, 10.9; RoCEv2 annex A17).
#pragma once

#include "model/hca/queue/queue_pair.h"
#include "model/port/packet.h"

#include <array>
#include <cstdint>
#include <vector>

namespace model::hca::address {

/// One entry of the RoCE address table, or one port GID on InfiniBand.
struct GidEntry {
    bool is_valid = false;
    std::uint8_t roce_version = 2; ///< 0: v1, 2: v2
    bool is_ipv4 = false;
    port::Gid gid{};
    port::MacAddress mac{};
};

/// The MAC of a card: of its EUI-64 the two bytes in the middle are dropped (IEEE "Guidelines for EUI").
constexpr port::MacAddress mac_of_guid(std::uint64_t guid) {
    port::MacAddress mac{};
    for (std::size_t i = 0; i < 3; ++i) {
        mac[i] = static_cast<std::byte>(guid >> (56 - 8 * i) & 0xff);
        mac[3 + i] = static_cast<std::byte>(guid >> (16 - 8 * i) & 0xff);
    }
    return mac;
}

class Identity {
public:
    static constexpr std::size_t max_gids = 128;

    bool is_ethernet = true;
    std::uint16_t lid = 0;
    std::uint8_t lmc = 0; ///< the port answers to the 2^lmc LIDs from `lid` on (IBA 4.1.3)
    port::MacAddress mac{};
    std::array<GidEntry, max_gids> gids{};
    std::vector<std::uint16_t> pkeys{0xffff};

    /// Whether an address path leads to this port itself.
    bool is_own(const queue::AddressPath& to) const;
    /// The path bits of one of this port's 2^lmc LIDs, which say which one it is (IBA 4.1.3). They are 0 for groups and
    /// for the permissive LID.
    std::uint8_t path_bits_of(std::uint16_t destination) const;
    /// The LID that packets of a path come from: the port's base LID, with the path's own bits in its low bits.
    std::uint16_t source_lid(const queue::AddressPath& to) const;
    /// Header addresses for packets of queue pair `qpn` with this address path.
    port::Path path(const queue::AddressPath& to, abi::Qpn qpn) const;
    /// Whether the addresses of a packet that came in are this port's: of the link (MAC or LID), and of the network
    /// (GID).
    bool has_link_address(const port::Packet& packet) const;
    bool has_network_address(const port::Packet& packet) const;
    /// Whether a packet has come from the other end of a connection, by the LID or GID to which the connection's path
    /// leads (IBA 9.6.1; annex A17). `own` has the addresses of the packets that go there. MACs are not compared, as
    /// routers change them, nor which of the port's own LIDs the packet is for.
    bool is_from_peer(const port::Path& own, const port::Path& packet) const;

    /// The P_Key at `index` of the table as it stands now; invalid_pkey when the index is beyond it.
    std::uint16_t pkey(std::uint16_t index) const { return index < pkeys.size() ? pkeys[index] : invalid_pkey; }
    /// Whether two P_Keys match (IBA 10.9.3): their low 15 bits are equal and not 0, and at least one is a full member.
    static bool matches(std::uint16_t a, std::uint16_t b) {
        return ((a ^ b) & 0x7fff) == 0 && (a & 0x7fff) != 0 && ((a | b) & 0x8000) != 0;
    }
    /// Whether any entry of the table matches, which is enough for QP1 (IBA 10.9).
    bool is_in_table(std::uint16_t pkey) const;
    static constexpr std::uint16_t invalid_pkey = 0;

private:
    bool is_own_gid(const port::Gid& gid) const;

    mutable std::uint8_t recent_ = 0; ///< the table entry that the last packet was for
};

} // namespace model::hca::address

// Who the port is: its MAC, LID, GID / RoCE address table and P_Keys; and how a queue pair's address path becomes the
// header addresses of its packets (PRM "RoCE address table"; IBA 4.1; RoCEv2 annex A17).
#pragma once

#include "model/hca/queue/queue_pair.h"
#include "model/port/packet.h"

#include <array>
#include <cstdint>
#include <vector>

namespace model::hca::wire {

/// One entry of the RoCE address table, or one port GID on InfiniBand.
struct GidEntry {
    bool is_valid = false;
    std::uint8_t roce_version = 2; ///< 0: v1, 2: v2
    bool is_ipv4 = false;
    port::Gid gid{};
    port::MacAddress mac{};
};

class Identity {
public:
    static constexpr std::size_t max_gids = 128;

    bool is_ethernet = true;
    std::uint16_t lid = 0;
    port::MacAddress mac{};
    std::array<GidEntry, max_gids> gids{};
    std::vector<std::uint16_t> pkeys{0xffff};

    /// Whether an address path leads to this port itself.
    bool is_own(const queue::AddressPath& to) const;
    /// Header addresses for packets of queue pair `qpn` with this address path.
    port::Path path(const queue::AddressPath& to, abi::Qpn qpn) const;
    /// The P_Key at `index`; the default one when the index is beyond the table.
    std::uint16_t pkey(std::uint16_t index) const { return index < pkeys.size() ? pkeys[index] : 0xffff; }
    /// IBA 10.9.3: same key in the low 15 bits, and not both limited members.
    static bool matches(std::uint16_t a, std::uint16_t b) { return ((a ^ b) & 0x7fff) == 0 && ((a | b) & 0x8000) != 0; }
};

} // namespace model::hca::wire

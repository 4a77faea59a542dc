// Which way a device's requests to a peer take, and therefore which address the device must use (the rule of Linux'
// p2pdma). Below a common bridge whose ports redirect nothing they go straight, by the peer's bus address. Otherwise
// they go up to the host, which translates them where it has a remapping unit, and forwards them if it is known to.
// Decides by what enumeration found; sends nothing.
#pragma once

#include <cstdint>
#include <span>

namespace sw::memory {

/// A bridge of the host: root port, or port of a switch.
struct Bridge {
    std::uint8_t bus = 0;              ///< it stands on
    std::uint8_t secondary = 0;        ///< behind it
    bool redirects = false;            ///< access control sends peer requests or their completions up
    bool redirects_translated = false; ///< also those whose address the requester has translated itself (ATS)
};

enum class PeerRoute : std::uint8_t {
    direct,       ///< by the peer's own address, through switches only
    translated,   ///< through switches only, too, by an address that the function translates itself
    through_host, ///< by an address that the remapping unit translates, if there is one
    none,
};

/// `from` and `to`: the buses of two functions. Bus 0 is the host's own. `translates`: the function at `from` has a TLB
/// of its own that is on. Then none of its requests uses a bus address as it is, so no route is direct. Linux does
/// not consider that, nor ports that let translated requests pass.
PeerRoute find_peer_route(std::span<const Bridge> bridges, std::uint8_t from, std::uint8_t to, bool host_forwards,
                          bool translates = false);

} // namespace sw::memory

// Ways through the fabric, where no subnet manager gives them: by which port each switch passes on what is meant for an
// HCA, by the fewest switches. Takes a description, gives tables. Where several ways are as short it names all: an
// InfiniBand switch takes one by the number of the HCA, an Ethernet switch one for each flow.
#pragma once

#include "platform/topology/description.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace platform::topology {

struct SwitchRoutes {
    /// By number of the HCA: ports that lead there by the fewest switches; none: it cannot be reached.
    std::vector<std::vector<std::uint8_t>> ways;
    /// Where multicast goes, a bit each: to all HCAs, and to other switches by one tree, so that nothing comes twice or
    /// goes round.
    std::uint64_t groups = 0;
};

/// For each switch.
std::vector<SwitchRoutes> find_routes(const Description& platform);

/// A number for each HCA: those with the same one reach each other.
std::vector<std::size_t> find_islands(const Description& platform);

} // namespace platform::topology

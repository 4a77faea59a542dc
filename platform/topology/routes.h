// Ways through the fabric, where no subnet manager gives them: by which port each switch passes on what is meant for an
// HCA, by the fewest switches. Takes a description, gives tables. Where several ways are as short, HCAs are spread over
// them by number, so the same platform has the same routes each time.
#pragma once

#include "platform/topology/description.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace platform::topology {

struct SwitchRoutes {
    std::vector<std::uint8_t> ports; ///< by number of the HCA; 0: it cannot be reached
    /// Where multicast goes, a bit each: to all HCAs, and to other switches by one tree, so that nothing comes twice or
    /// goes round.
    std::uint64_t groups = 0;
};

/// For each switch.
std::vector<SwitchRoutes> find_routes(const Description& platform);

/// A number for each HCA: those with the same one reach each other.
std::vector<std::size_t> find_islands(const Description& platform);

} // namespace platform::topology

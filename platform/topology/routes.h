// Ways through the fabric, where no subnet manager gives them: by which port each switch passes on what is meant for an
// HCA. Takes a description, gives tables. Where several ways are as good it names all: an InfiniBand switch takes one
// by the number of the HCA, an Ethernet switch one for each flow.
#pragma once

#include "platform/topology/description.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace platform::topology {

struct SwitchRoutes {
    /// By number of the HCA: ports that lead there and are as good, in their order; none: it cannot be reached.
    std::vector<std::vector<std::uint8_t>> ways;
    /// Where multicast goes, a bit each: to all HCAs, and to other switches by one tree, so that nothing comes twice or
    /// goes round.
    std::uint64_t groups = 0;
    /// By how many cables it is away from the nearest switch that has HCAs.
    unsigned level = 0;

    /// The port that the table of an InfiniBand switch has for an HCA; 0: none. Each level of a tree goes by another
    /// digit of the HCA's number, so that all roots are used alike (Zahavi, "D-Mod-K routing providing non-blocking
    /// traffic for shift permutations on real life fat trees", 2010).
    std::uint8_t way(std::size_t hca) const;
};

/// For each switch. Cables of `is_dead`, by number, carry nothing; empty: all work. With FabricRouting::automatic
/// InfiniBand switches have the ways of up_down where those by the fewest switches would have a credit loop.
std::vector<SwitchRoutes> find_routes(const Description& platform, const std::vector<bool>& is_dead = {});

/// Whether packets that have room at InfiniBand switches could wait for each other in a circle: the cables that they
/// have and wait for, by direction, form one (Dally, Seitz, "Deadlock-free message routing in multiprocessor
/// interconnection networks", 1987). There is one data lane, so nothing else keeps them apart.
bool has_credit_loop(const Description& platform, const std::vector<SwitchRoutes>& routes);

/// A number for each HCA: those with the same one reach each other.
std::vector<std::size_t> find_islands(const Description& platform);

} // namespace platform::topology

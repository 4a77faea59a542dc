// At which points of a transfer something gets in its way: all of them, each so-many-th, or a few that lie where they
// find most.
#pragma once

#include "testbench/hcasim/explore.h"
#include "testbench/scenario/race.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hcasim {

struct Point {
    std::uint64_t event = 0;
    bool is_late = false; ///< at the time that the event has, where a device knows of it before
    bool operator==(const Point&) const = default;
};

/// `row` makes those of one row lie between those of another. Two of three are between the first time and the last that
/// the transfer touches the memory, the others before: what an action does takes effect after it has begun. Two more
/// are put where mistakes live: at the time of a translation, whose access is still to come, and while a switch has a
/// packet.
std::vector<Point> points_of(const ExploreOptions& options, const scenario::race::Outcome& undisturbed,
                             std::size_t row);

} // namespace hcasim

// How busy the resources of a platform were between two moments: those of its devices and their links, of its
// processors and its cables. What was counted before the first moment, as while drivers came up, does not count.
#pragma once

#include "model/port/time.h"
#include "model/time/usage.h"
#include "platform/ranks/partition.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace platform::topology {
class Platform;
}

namespace scenario {

/// A resource, under the name that reports have: that of its device and its own.
struct Counted {
    std::string name;
    model::time::Account account; ///< its own name is not valid
    std::size_t group = 0;        ///< what it belongs to: hosts are counted first, and behind them the ends of cables
};

/// What the resources of a platform that are here have counted until now.
std::vector<Counted> count_all(platform::topology::Platform& platform, const platform::ranks::Share& here = {});
/// The group of the first end of the first cable, and that behind the last one.
std::size_t first_cable_group(const platform::topology::Platform& platform);
std::size_t end_of_groups(const platform::topology::Platform& platform);
/// Adds what was counted between two moments to `sum`, which is empty at first.
void add_between(std::span<const Counted> before, std::span<const Counted> after, std::vector<Counted>& sum);

struct Busiest {
    std::string name; ///< "A.hca PCIe upstream"; "latency": all of them had time to spare
    double load = 0;  ///< of the busiest
};

/// What of `counted` was busy for the largest share of `elapsed`: for most of it, or it was not what kept the work
/// back. Of the processing units no more can be busy than there are queue pairs, each of which belongs to one. A window
/// is full of users who wait for what is behind it: it is named only where nothing behind it is nearly as busy, as in
/// reports of runs.
Busiest busiest(std::span<const Counted> counted, model::port::Time elapsed, unsigned queue_pairs);

} // namespace scenario

// How busy the resources of a platform were between two moments: those of its devices and their links, of its
// processors and its cables. What was counted before the first moment, as while drivers came up, does not count.
#pragma once

#include "model/port/time.h"
#include "model/time/usage.h"

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
};

/// What all resources of a platform have counted until now.
std::vector<Counted> count_all(platform::topology::Platform& platform);
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

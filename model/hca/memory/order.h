// The order in which writes to memory go out: those of a queue pair (IBA 9.5), whose requests may overlap, but none of
// a later one goes before those of an earlier one; entries of a completion or event queue, and what tells of them.
#pragma once

#include "model/port/time.h"

#include <algorithm>

namespace model::hca::memory {

struct Order {
    port::Time issued{}; ///< when the last one went out

    /// Returns when a write goes out that could do so at `ready`.
    port::Time issue(port::Time ready) { return issued = std::max(issued, ready); }
};

} // namespace model::hca::memory

// What all threads of a load share: what has gone wrong first, and when somebody has last got on.
#pragma once

#include "model/port/time.h"
#include "testbench/load/plan.h"

#include <cstdint>
#include <string>
#include <utility>

namespace load {

struct Progress {
    std::string failure{};             ///< the first one, for a person; empty: nothing has gone wrong
    model::port::Time last_progress{}; ///< when a core has last posted, or seen a completion

    void fail(std::string why) {
        if (failure.empty())
            failure = std::move(why);
    }
    /// Nobody has seen anything for longer than what is lost takes to come again.
    bool is_stalled(const Work& work) const;
    /// A core has seen nothing: where nobody has seen anything for very long, something has gone wrong that nobody
    /// tells.
    void look_for_progress(const Work& work, std::uint64_t under_way);
};

} // namespace load

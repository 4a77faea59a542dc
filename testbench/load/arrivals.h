// When messages of an open loop arrive: each queue pair has its part of the flow's rate.
#pragma once

#include "model/port/time.h"
#include "testbench/load/plan.h"
#include "testbench/load/random.h"

#include <cmath>
#include <cstdint>

namespace load {

/// From one message of a queue pair to the next one.
inline model::port::Time next_gap(const Work& work, Random& random) {
    const auto mean = 1e12 * work.queue_pairs / work.how.rate; // picoseconds
    const bool is_drawn = work.how.arrivals == platform::topology::TrafficArrivals::poisson;
    return model::port::Time{std::llround(is_drawn ? -std::log1p(-random.fraction()) * mean : mean)};
}

/// To the first one of queue pair `turn` of a flow. At fixed intervals the queue pairs of a flow have theirs one after
/// the other.
inline model::port::Time first_gap(const Work& work, Random& random, std::uint64_t turn) {
    if (work.how.arrivals == platform::topology::TrafficArrivals::poisson)
        return next_gap(work, random);
    const auto place = static_cast<double>(turn + 1);
    return model::port::Time{std::llround(1e12 * place / work.how.rate)};
}

} // namespace load

// What a simple HCA counts.
#pragma once

#include <cstdint>

namespace model::simple {

struct Counters {
    std::uint64_t packets_sent = 0, packets_received = 0, packets_dropped = 0;
    std::uint64_t retries = 0, timeouts = 0, rnr_waits = 0, naks_sent = 0, acks_sent = 0, duplicates = 0;
    std::uint64_t completions_ok = 0, completions_error = 0;
    std::uint64_t bad_doorbells = 0; ///< that said more than the ring has, or less than before
};

} // namespace model::simple

// What a host's software costs: how long its processor makes a work request, takes in a completion, and how long after
// an interrupt the thread goes on that waits for it. Without them latencies are too short and rates of small messages
// too high (measurements contain 50 to 150 ns for each on cores of 2.5 to 3 GHz; the time of an interrupt is assumed).
#pragma once

#include "model/port/time.h"

namespace platform::host {

struct SoftwareConfig {
    model::port::Time post = std::chrono::nanoseconds{50};
    model::port::Time poll = std::chrono::nanoseconds{50};
    /// Of a store to a register, with the flush of the write-combining buffer it goes through: a core that rings for
    /// each message sends 7.0 million a second, and 27.4 million when it rings once for many (ATC 2016, section 4.2).
    model::port::Time store = std::chrono::nanoseconds{100};
    model::port::Time interrupt = std::chrono::microseconds{2};

    bool operator==(const SoftwareConfig&) const = default;
};

} // namespace platform::host

// What a core may ask of time: what time it is, and to be woken.
#pragma once

#include "model/port/time.h"

namespace model::port {

/// The shell calls the core's `wake(now)` at the earliest time asked for; a core keeps its own list of what is due.
class Clock {
public:
    virtual ~Clock() = default;
    virtual Time now() const = 0;
    /// Asks for a `wake` no later than `at`. A later or equal earlier request is kept; spurious wakes are allowed.
    virtual void wake_at(Time at) = 0;
};

} // namespace model::port

// Waiting for a device by looking again. A wait has a deadline in the machine's own time and lets the device run
// between looks.
#pragma once

#include "sw/transport/transport.h"

#include <chrono>

namespace sw::transport {

/// Looks until `done()` is true or `timeout` has passed; looks at least once, and once more after the deadline, so a
/// wait that was merely scheduled late does not fail. Returns whether it was true.
template <class Done> bool poll_until(Transport& transport, std::chrono::nanoseconds timeout, Done&& done) {
    if (done())
        return true;
    const auto deadline = transport.now() + timeout;
    while (transport.now() < deadline) {
        transport.relax();
        if (done())
            return true;
    }
    return done();
}

} // namespace sw::transport

// Interrupt vectors as event files: made here, handed to whoever signals them, waited for here. Knows no device.
#pragma once

#include "sw/base/result.h"
#include "sw/transport/file.h"

#include <chrono>
#include <vector>

namespace sw::transport {

class Interrupts {
public:
    static Result<Interrupts> create(unsigned count);
    /// Numbers of the files, by vector.
    std::vector<int> files() const;
    unsigned count() const { return static_cast<unsigned>(events_.size()); }

    enum class Waited { raised, over, other };
    /// Until `vector` was raised since the last such answer, the time is over, or the file `other` (-1: none) has
    /// something to read or is closed.
    Waited wait(unsigned vector, std::chrono::nanoseconds timeout, int other) const;

private:
    std::vector<File> events_;
};

/// What a polling loop does between two looks: spins while things happen, then sleeps a little longer each time.
class Rest {
public:
    using Clock = std::chrono::steady_clock;
    /// Returns true when it slept; `other` as in Interrupts::wait.
    bool take(int other);

private:
    Clock::time_point last_{}, begin_{};
};

} // namespace sw::transport

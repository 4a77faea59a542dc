// What a window of simulated time has shown: how much was done in it, and how busy each resource was. The resources are
// those of the devices, their links and the cable; a window is the difference of what they had counted at its two ends,
// so that set-up and warm-up count nothing.
#pragma once

#include "model/port/time.h"
#include "model/time/usage.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace platform::topology {
class Platform;
}

namespace calibrate {

/// Text that crosses from one process to the other.
struct Name {
    std::array<char, 48> text{};
    Name() = default;
    explicit Name(std::string_view from);
    std::string_view view() const { return text.data(); }
};

/// A measurement as plain numbers.
struct Measured {
    double messages_per_s = 0, bytes_per_s = 0;
    double latency_ns = 0; ///< of a message, on average: posted until its completion was polled, or half a ping-pong
    double per_message_ns = 0;
    // Bytes on the link of the first HCA, a message: TLPs with header and framing.
    double downstream_bytes = 0, upstream_bytes = 0;
    double context_misses = 0; ///< of queue pairs at the first HCA, a message
    Name bottleneck;           ///< "A.hca0 PCIe upstream"; "latency" where nothing was busy for most of the window
    double load = 0;           ///< share of the window that it was busy
};

/// A resource, under the name that reports have: that of its device and its own.
struct Counted {
    std::string name;
    model::time::Account account; ///< its own name is not valid
};

/// What all resources of a platform have counted until now.
std::vector<Counted> count_all(platform::topology::Platform& platform);

struct Busiest {
    std::string name; ///< "latency": all of them had time to spare
    double load = 0;
};

/// What was busy for the largest share of `elapsed`. Of the processing units no more can be busy than there are queue
/// pairs, each of which belongs to one. A window is full of users who wait for what is behind it: it is
/// named only where nothing behind it is nearly as busy, as in reports of runs.
Busiest busiest_between(std::span<const Counted> before, std::span<const Counted> after, model::port::Time elapsed,
                        unsigned queue_pairs);

} // namespace calibrate

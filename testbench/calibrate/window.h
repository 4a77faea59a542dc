// What a window of simulated time has shown: how much was done in it, and which resource was busiest. It is the
// difference of what was counted at its two ends, so that set-up and warm-up count nothing.
#pragma once

#include <array>
#include <string_view>

namespace calibrate {

/// Text that crosses from one process to the other.
struct Name {
    std::array<char, 48> text{};
    Name() = default;
    explicit Name(std::string_view from) { from.copy(text.data(), text.size() - 1); }
    std::string_view view() const { return text.data(); }
};

/// A measurement as plain numbers.
struct Measured {
    double messages_per_s = 0, bytes_per_s = 0;
    double latency_ns = 0; ///< of a message, on average: posted until its completion was polled, or half a ping-pong
    // Bytes on the link of the first HCA, a message: TLPs with header and framing.
    double downstream_bytes = 0, upstream_bytes = 0;
    double context_misses = 0; ///< of queue pairs at the first HCA, a message
    Name bottleneck;           ///< "A.hca0 PCIe upstream"; "latency" where nothing was busy for most of the window
    double load = 0;           ///< share of the window that it was busy
};

} // namespace calibrate

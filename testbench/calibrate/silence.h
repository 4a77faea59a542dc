// A peer that never answers: every packet is lost. What a requester makes of it, in time.
#pragma once

#include "platform/topology/config.h"

#include <cstdint>
#include <optional>

namespace calibrate {

struct Silence {
    std::uint8_t ack_timeout = 17; ///< 4.096 us << n
    std::uint8_t retry_count = 7;
};

struct Patience {
    double total_ms = 0;       ///< posted until completed
    double interval_ms = 0;    ///< between two retransmissions, on average
    double adaptive_ms = 0;    ///< from the first adaptive one to the last
    unsigned adaptive = 0;     ///< of the time-outs
    unsigned timeouts = 0;     ///< that the HCA has counted
    std::uint8_t syndrome = 0; ///< the vendor's, of the completion
};

/// Measures in a process of its own; nothing: it has failed there, and has said why on standard error.
std::optional<Patience> measure(const platform::topology::Config& config, const Silence& silence);

} // namespace calibrate

// The packet pipeline of the sending side: one packet after the other, each for HcaConfig::packet_latency.
#pragma once

#include "model/hca/config.h"

namespace model::hca::egress {

class Pipe {
public:
    explicit Pipe(const HcaConfig& config) : is_timed_(config.timed), latency_(config.packet_latency) {}

    /// Returns when the pipeline can work on a packet whose work arrives at `at`, and books the time for one packet.
    port::Time enter(port::Time at) {
        if (!is_timed_)
            return at;
        const auto start = at > free_ ? at : free_;
        free_ = start + latency_;
        return start;
    }
    void reset() { free_ = {}; }

private:
    bool is_timed_;
    port::Time latency_;
    port::Time free_{}; ///< when it takes the next packet
};

} // namespace model::hca::egress

// The packet pipeline of one direction: one packet after the other, each for HcaConfig::packet_latency. Work comes in
// the order of turns, which is not that of its time: packets of another queue pair use the time between those that a
// processing unit makes one by one.
#pragma once

#include "model/hca/config.h"
#include "model/time/schedule.h"
#include "model/time/usage.h"

#include <string>
#include <utility>

namespace model::hca {

class Pipe {
public:
    Pipe(std::string name, const HcaConfig& config)
        : is_timed_(config.timed), latency_(config.packet_latency), meter_(std::move(name)) {}

    /// Returns when the pipeline can work on a packet whose work arrives at `at`, and books the time for one packet.
    port::Time enter(port::Time at) {
        if (!is_timed_)
            return at;
        const auto start = schedule_.book(at, latency_);
        meter_.count(at, start);
        meter_.add_busy(latency_);
        return start;
    }
    void reset() { schedule_ = time::Schedule(); }

    time::Account account() const { return {meter_.name(), time::Kind::server, 1, meter_.usage()}; }

private:
    bool is_timed_;
    port::Time latency_;
    time::Meter meter_;
    time::Schedule schedule_;
};

} // namespace model::hca

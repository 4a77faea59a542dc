// A window that follows the delay of the fabric: Swift (Kumar et al., "Swift: Delay is Simple and Effective for
// Congestion Control in the Datacenter", SIGCOMM 2020), algorithm 1 and section 3.5. Receives round trips and losses;
// gives the number of packets that may be in flight, and below one of them a pause between two. Of its two windows this
// is that of the fabric: the delay of endpoints is not told apart, since no answer of IBA says how long it was made.
// Hops are not counted: switches of Ethernet leave the time to live of a packet alone, so that a card cannot.
#pragma once

#include "model/hca/congestion/config.h"
#include "model/hca/congestion/control.h"
#include "model/port/time.h"

#include <cstdint>

namespace model::hca::congestion {

class Swift final : public Control {
public:
    explicit Swift(const SwiftConfig& config);

    void sent(const Departure& packet) override;
    void acknowledged(const Acknowledged& answer) override;
    /// Delay is its only signal; what a card of DCQCN sends says nothing to it.
    void notified(port::Time /*now*/) override {}
    void lost(Loss how, port::Time now) override;

    port::Time next(port::Time /*now*/) override { return next_; }
    port::Time asks_again() const override { return next_; }
    double window() const override { return window_; }
    std::uint32_t answers_per_window() const override { return config_.answers; }
    bool is_silent(port::Time now) const override { return next_ > now; }

    /// The delay above which the window becomes smaller (section 3.5, without hops).
    port::Time target() const;

private:
    bool can_decrease(port::Time now) const { return now - last_decrease_ >= round_trip_; }
    void become(double window, port::Time now);

    const SwiftConfig& config_;
    double window_;                 ///< packets, cwnd
    double scale_ = 0, offset_ = 0; ///< of flow scaling, picoseconds: alpha and beta of section 3.5
    port::Time round_trip_{};       ///< the last one; 0: none was measured yet
    port::Time last_decrease_{};
    port::Time next_{};
    std::uint32_t unmeasured_ = 0; ///< packets that were answered since the last measurement
    std::uint32_t timeouts_ = 0;   ///< in a row: retransmit_cnt
};

} // namespace model::hca::congestion

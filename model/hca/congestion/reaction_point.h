// How fast one queue pair may send (DCQCN's reaction point; Zhu et al., SIGCOMM 2015, sections 3.1 and 3.2, figure 7).
// Receives CNPs, bytes that leave, and the time; gives the time at which the next packet may leave. Exists from the
// first CNP until the rate is that of the port again; answers and losses say nothing to it. Timers are no events: what
// they would have done is made up for when somebody asks.
#pragma once

#include "model/hca/congestion/config.h"
#include "model/hca/congestion/control.h"
#include "model/port/time.h"

#include <algorithm>
#include <cstdint>

namespace model::hca::congestion {

class ReactionPoint final : public Control {
public:
    /// `port_mbps`: the rate of the port, at which it begins.
    ReactionPoint(const DcqcnConfig& config, double port_mbps, port::Time now);

    void notified(port::Time now) override;
    void sent(const Departure& packet) override;
    void acknowledged(const Acknowledged& /*answer*/) override {}
    void lost(Loss /*how*/, port::Time /*now*/) override {}
    /// At the rate that there is by `now`.
    port::Time next(port::Time now) override {
        catch_up(now);
        return next_;
    }
    /// Then, or when the rate has grown.
    port::Time asks_again() const override { return std::min(next_, timer_from_ + config_.time_reset); }
    bool is_over(port::Time now) override;

    double rate_mbps() const { return rate_; }
    double target_mbps() const { return target_; }
    /// Of 1024.
    double alpha() const { return alpha_; }

private:
    void catch_up(port::Time now);
    void update_alpha(std::int64_t periods);
    void increase(port::Time now);

    const DcqcnConfig& config_;
    double port_, rate_, target_, alpha_;
    port::Time alpha_from_, timer_from_, last_decrease_, next_{};
    std::uint64_t bytes_ = 0;
    std::uint32_t by_time_ = 0, by_bytes_ = 0; ///< increases since the last decrease
    bool saw_cnp_ = false;                     ///< in this period of alpha
    bool has_decreased_ = false;
};

} // namespace model::hca::congestion

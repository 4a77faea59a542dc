#include "model/hca/congestion/reaction_point.h"

#include <algorithm>
#include <cmath>

namespace model::hca::congestion {

namespace {
constexpr double one = 1024; ///< alpha and g are parts of it
}

ReactionPoint::ReactionPoint(const DcqcnConfig& config, double port_mbps, port::Time now)
    : config_(config), port_(port_mbps), rate_(port_mbps), target_(port_mbps), alpha_(config.initial_alpha),
      alpha_from_(now), timer_from_(now), last_decrease_(now), next_(now) {}

void ReactionPoint::notified(port::Time now) {
    catch_up(now);
    saw_cnp_ = true;
    const bool is_first = !has_decreased_;
    if (!is_first && now < last_decrease_ + config_.rate_reduce_period)
        return;
    if (is_first || config_.clamp_target || (config_.clamp_target_after_increase && by_time_ != 0))
        target_ = rate_;
    const auto least = std::max(rate_ * config_.min_dec_fac / 100, config_.min_rate_mbps);
    rate_ = is_first && config_.first_rate_mbps != 0
                ? std::clamp(config_.first_rate_mbps, config_.min_rate_mbps, port_)
                : std::max(rate_ * (1 - alpha_ / static_cast<double>(std::uint64_t{1} << config_.gd)), least);
    has_decreased_ = true;
    last_decrease_ = timer_from_ = now;
    by_time_ = by_bytes_ = 0;
    bytes_ = 0;
}

void ReactionPoint::sent(const Departure& packet) {
    const auto bytes = packet.bytes;
    const auto at = packet.at;
    catch_up(at);
    for (bytes_ += bytes; bytes_ >= config_.byte_reset; bytes_ -= config_.byte_reset) {
        ++by_bytes_;
        increase(at);
    }
    const auto picoseconds = static_cast<double>(bytes) * 8e6 / rate_; // bits over megabits a second
    next_ = std::max(next_, at) + port::Time{std::llround(picoseconds)};
}

bool ReactionPoint::is_over(port::Time now) {
    catch_up(now);
    return has_decreased_ && rate_ >= port_;
}

/// Makes up for the periods of both timers that have ended by `now`.
void ReactionPoint::catch_up(port::Time now) {
    if (const auto periods = (now - alpha_from_) / config_.dce_tcp_rtt; periods > 0) {
        update_alpha(periods);
        alpha_from_ += periods * config_.dce_tcp_rtt;
    }
    while (timer_from_ + config_.time_reset <= now && rate_ < port_) {
        timer_from_ += config_.time_reset;
        ++by_time_;
        increase(timer_from_);
    }
    if (rate_ >= port_)
        timer_from_ = std::max(timer_from_, now);
}

void ReactionPoint::update_alpha(std::int64_t periods) {
    const auto kept = config_.dce_tcp_g / one;
    alpha_ = kept * alpha_ + (saw_cnp_ ? one - config_.dce_tcp_g : 0);
    alpha_ *= std::pow(kept, static_cast<double>(periods - 1));
    saw_cnp_ = false;
}

/// Fast recovery halves the way to the target; after that the target itself grows, and faster when both the timer and
/// the bytes say so.
void ReactionPoint::increase(port::Time now) {
    const auto before = rate_;
    if (std::max(by_time_, by_bytes_) > config_.threshold) {
        const bool is_hyper = std::min(by_time_, by_bytes_) > config_.threshold;
        target_ = std::min(port_, target_ + (is_hyper ? config_.hai_rate_mbps : config_.ai_rate_mbps));
    }
    rate_ = (rate_ + target_) / 2;
    if (rate_ > port_ * 0.999) // halving never ends
        rate_ = port_;
    if (next_ > now) // the gap that was left for the old rate is shorter at the new one
        next_ = now + port::Time{std::llround(static_cast<double>((next_ - now).count()) * before / rate_)};
}

} // namespace model::hca::congestion

#include "model/hca/congestion/swift.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace model::hca::congestion {

Swift::Swift(const SwiftConfig& config)
    : config_(config), window_(std::clamp(config.first_window, config.min_window, config.max_window)),
      // Before the first packet has left nothing was decreased, at whatever time the queue pair begins.
      last_decrease_(-port::never / 2) {
    const auto least = 1 / std::sqrt(config.flow_min_window), most = 1 / std::sqrt(config.flow_max_window);
    scale_ = static_cast<double>(config.flow_range.count()) / (least - most);
    offset_ = -scale_ * most;
}

/// Section 3.5: many flows, each with a small window, make a longer queue even when none of them is at fault.
port::Time Swift::target() const {
    const auto more = scale_ / std::sqrt(window_) + offset_;
    const auto range = static_cast<double>(config_.flow_range.count());
    return config_.base_target + port::Time{std::llround(std::clamp(more, 0.0, range))};
}

/// Algorithm 1 paces what is less than a packet a round trip, and nothing else: a packet of a larger window may come
/// late from memory, and the one behind it need not wait for that.
void Swift::sent(const Departure& packet) {
    if (window_ < 1)
        next_ =
            packet.at + port::Time{std::llround(static_cast<double>(round_trip_.count()) * packet.packets / window_)};
}

void Swift::acknowledged(const Acknowledged& answer) {
    timeouts_ = 0;
    unmeasured_ += answer.packets;
    if (!answer.round_trip)
        return; // nothing is known of their delay; they count with the next one that is measured
    const auto acked = std::exchange(unmeasured_, 0);
    const auto delay = *answer.round_trip;
    const auto target = this->target();
    round_trip_ = delay;
    if (delay < target)
        return become(window_ + config_.increase * acked / std::max(window_, 1.0), answer.at);
    if (!can_decrease(answer.at)) // the packet had left before the last decrease
        return become(window_, answer.at);
    const auto beyond = static_cast<double>((delay - target).count()) / static_cast<double>(delay.count());
    become(window_ * std::max(1 - config_.decrease * beyond, 1 - config_.most_decrease), answer.at);
}

void Swift::lost(Loss how, port::Time now) {
    unmeasured_ = 0;
    timeouts_ = how == Loss::timeout ? timeouts_ + 1 : 0;
    if (timeouts_ >= config_.reset_after)
        become(config_.min_window, now);
    else if (can_decrease(now))
        become(window_ * (1 - config_.most_decrease), now);
}

/// The end of algorithm 1: bounds, and the time of a decrease. As it is printed, a window that stays counts as
/// decreased, too, and would put its own decrease off for as long as it is congested; as in htsim only one that became
/// smaller does. A pause that has begun stays as long as it is, as with a pacer that has the packet already, unless the
/// window needs none any more.
void Swift::become(double window, port::Time now) {
    window = std::clamp(window, config_.min_window, config_.max_window);
    if (window < window_)
        last_decrease_ = now;
    window_ = window;
    if (window_ >= 1)
        next_ = port::Time{};
}

} // namespace model::hca::congestion

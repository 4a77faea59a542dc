#include "model/net/lane.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace model::net {

Link::Link(const LinkConfig& config, port::Clock& clock, traces::Events events)
    : config_(config), clock_(clock), events_(events),
      ps_per_byte_q16_(
          config.rate_gbps > 0 ? static_cast<std::uint64_t>(std::llround(8000.0 / config.rate_gbps * 65536)) : 0),
      needs_image_(config.exact_bytes),
      has_faults_(config.loss > 0 || config.duplicate > 0 || config.reorder > 0 || config.corrupt > 0) {
    for (unsigned i = 0; i < 2; ++i)
        lanes_[i] = std::make_unique<Lane>(*this, i);
}

Link::~Link() = default;

port::Wire& Link::end(unsigned i) { return *lanes_[i]; }

void Link::attach(unsigned i, port::Receiver& receiver) {
    lanes_[i]->set_source(receiver);
    lanes_[1 - i]->set_sink(receiver);
}

void Link::free_room(unsigned from, std::uint64_t bytes, port::Time at) {
    if (far_ != nullptr) [[unlikely]]
        return far_->on_credit(bytes, at + config_.latency);
    lanes_[1 - from]->take_credit(bytes, at + config_.latency);
}

void Link::pause(unsigned from, std::uint8_t priorities, port::Time at) {
    if (far_ != nullptr) [[unlikely]]
        return far_->on_pause(priorities, at + config_.latency);
    lanes_[1 - from]->take_pause(priorities, at + config_.latency);
}

namespace {

/// Where packets end whose receiver is elsewhere.
class Nowhere final : public port::Receiver {
public:
    void receive(port::Packet&, port::Time) override {}
    void received_all(port::Time) override {}
    void ready(port::Time) override {}
};

Nowhere nowhere;

} // namespace

void Link::cut(unsigned near, FarEnd& far) {
    assert(config_.timed && config_.reorder == 0 && breaks_.empty() && "a cable that can be cut");
    far_ = &far;
    near_ = near;
    lanes_[near]->send_to(far, nowhere);
    lanes_[1 - near]->source = &nowhere;
}

void Link::take_packet(const port::Packet& packet, port::Time arrival) { lanes_[1 - near_]->arrive(packet, arrival); }
void Link::take_credit(std::uint64_t bytes, port::Time at) { lanes_[near_]->take_credit(bytes, at); }
void Link::take_pause(std::uint8_t priorities, port::Time at) { lanes_[near_]->take_pause(priorities, at); }

const LinkCounters& Link::counters(unsigned direction) const { return lanes_[direction]->counters_; }
std::size_t Link::under_way(unsigned direction) const { return lanes_[direction]->count(); }

port::Time Link::backlog(unsigned direction, port::Time now) const { return lanes_[direction]->backlog(now); }

void Link::wake_at(port::Time at) {
    if (is_pumping_ || at >= next_wake_)
        return; // pump() asks for the next wake at its end
    next_wake_ = at;
    clock_.wake_at(at);
}

void Link::wake(port::Time now) {
    next_wake_ = port::never;
    pump(now);
}

bool Link::deliver(port::Time now, port::Time until) {
    auto& [a, b] = lanes_;
    if (!config_.timed) {
        bool any = false;
        for (auto& lane : lanes_) {
            if (lane->is_empty())
                lane->release_held(now);
            auto left = lane->ring_count();
            if (left == 0 || !lane->sink->can_receive(now))
                continue;
            any = true;
            port::Time last{};
            do
                last = lane->deliver_one();
            while (--left != 0 && lane->may_deliver(now));
            lane->sink->received_all(last);
        }
        return any;
    }
    for (auto& lane : lanes_)
        if (lane->has_held())
            lane->release_held(until);
    if (std::min(a->head_arrival(), b->head_arrival()) > until)
        return false;
    // A direction delivers when its first packet has arrived, and with it what arrives soon after. The other direction
    // has no part in that, so that the ends of a cable may be simulated apart.
    std::array<port::Time, 2> last{port::never, port::never}, until_of{};
    for (unsigned i = 0; i < 2; ++i)
        until_of[i] = lanes_[i]->has_arrived(std::min(now, until)) ? until : port::Time{-1};
    for (;;) {
        const bool has_a = a->has_arrived(until_of[0]), has_b = b->has_arrived(until_of[1]);
        if (!has_a && !has_b)
            break;
        const unsigned i = !has_a || (has_b && b->head_arrival() < a->head_arrival());
        last[i] = lanes_[i]->deliver_one();
    }
    for (unsigned i = 0; i < 2; ++i)
        if (last[i] != port::never)
            lanes_[i]->sink->received_all(now); // each packet had its own time, and what follows from it begins there
    return last[0] != port::never || last[1] != port::never;
}

bool Link::set_on(unsigned end, bool is_on, port::Time at) {
    if (std::exchange(is_on_[end], is_on) != is_on && far_ != nullptr) [[unlikely]]
        far_->on_turned(is_on);
    const bool was_up = std::exchange(is_up_, is_on_[0] && is_on_[1] && !is_broken_);
    if (is_up_ == was_up)
        return is_up_;
    changes_.push_back({1 - end, is_up_, at});
    if (config_.timed) {
        if (!is_up_)
            for (auto& lane : lanes_)
                lane->cut(at + config_.latency, at);
        wake_at(at);
    }
    return is_up_;
}

void Link::plan_break(bool is_broken, port::Time at) {
    assert(config_.timed && (breaks_.empty() || breaks_.back().at <= at) && "breaks of a timed cable, in their order");
    breaks_.push_back({is_broken, at});
    wake_at(at);
}

/// Breaks the cable, or makes it whole, when the time for it has come and what has arrived by then is delivered.
bool Link::take_break(port::Time now) {
    if (breaks_.empty() || breaks_.front().at > now)
        return false;
    const auto [is_broken, at] = breaks_.front();
    breaks_.pop_front();
    is_broken_ = is_broken;
    const bool was_up = std::exchange(is_up_, is_on_[0] && is_on_[1] && !is_broken_);
    if (is_broken)
        for (auto& lane : lanes_)
            lane->counters_.cut += lane->cut(at, at);
    if (is_up_ != was_up)
        for (const auto end : {0u, 1u})
            changes_.push_back({end, is_up_, at});
    return true;
}

port::Time Link::deliverable(port::Time now) const {
    // Packets may be delivered early, since nothing that is sent from now on arrives before the latency is over.
    const auto until = now + config_.early();
    return breaks_.empty() ? until : std::min(until, breaks_.front().at);
}

/// Tells the ends of changes of the link. That happens in pump(), as the delivery of packets does, and not within the
/// call of the other end.
bool Link::tell(port::Time until) {
    bool any = false;
    while (!changes_.empty() && (!config_.timed || changes_.front().at <= until)) {
        const auto change = changes_.front();
        changes_.pop_front();
        any = true;
        lanes_[change.end]->source->link_changed(change.is_up, change.at);
    }
    return any;
}

bool Link::offer_room(port::Time now) {
    bool any = false;
    for (auto& lane : lanes_)
        if (lane->take_refusal(now)) {
            any = true;
            lane->source->ready(now);
        }
    return any;
}

void Link::pump(port::Time now) {
    if (is_pumping_)
        return;
    is_pumping_ = true;
    auto until = config_.timed ? deliverable(now) : port::never;
    for (bool busy = true; busy;) {
        busy = deliver(now, until);
        if (take_break(now)) [[unlikely]] {
            until = deliverable(now);
            busy = true;
        }
        busy = tell(until) || busy;
        if (config_.timed)
            for (auto& lane : lanes_)
                lane->go_on(now);
        busy = offer_room(now) || busy;
    }
    is_pumping_ = false;
    if (!config_.timed)
        return;
    auto due = std::min(lanes_[0]->due(), lanes_[1]->due());
    if (!changes_.empty())
        due = std::min(due, changes_.front().at);
    if (!breaks_.empty())
        due = std::min(due, breaks_.front().at);
    if (due != port::never)
        wake_at(std::max(due, now));
}

} // namespace model::net

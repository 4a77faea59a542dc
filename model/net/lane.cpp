#include "model/net/lane.h"

#include <limits>
#include <utility>

namespace model::net {

void Link::Lane::release_held(port::Time until) {
    for (std::size_t i = 0; i < held_.size();) {
        if (link_.config_.timed && held_[i].deadline > until) {
            ++i;
            continue;
        }
        auto& slot = *held_[i].slot;
        slot.arrival = std::max(slot.arrival, link_.config_.timed ? held_[i].deadline : slot.arrival);
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
        push(slot);
    }
}

void Link::Lane::make_slots() {
    blocks_.push_back(std::make_unique<Slot[]>(block_slots));
    for (std::size_t i = block_slots; i-- > 0;)
        free_.push_back(&blocks_.back()[i]);
}

void Link::Lane::set_source(port::Receiver& receiver) {
    source = &receiver;
    // Who keeps packets keeps them until they may leave, whatever their length. Others have brought theirs from memory
    // by then, so that the port has them when credit comes.
    needed_ = has_flow_control_ && receiver.keeps_packets()
                  ? std::min(link_.config_.credit_blocks, Credits::largest_packet)
                  : std::numeric_limits<std::int64_t>::min();
}

void Link::Lane::set_sink(port::Receiver& receiver) {
    sink = &receiver;
    sink_keeps_ = receiver.keeps_packets();
}

port::Time Link::Lane::wait(Slot& slot, port::Time at) {
    slot.arrival = at;
    slot.next = nullptr;
    (first_waiting_ == nullptr ? first_waiting_ : last_waiting_->next) = &slot;
    last_waiting_ = &slot;
    ++waiting_;
    waiting_time_ += slot.occupancy;
    link_.wake_at(credits_.next());
    return std::max(at, line_.free_from()) + waiting_time_;
}

void Link::Lane::go_on(port::Time now) {
    credits_.collect(now);
    while (first_waiting_ != nullptr && first_waiting_->blocks <= credits_.left()) {
        auto& slot = *std::exchange(first_waiting_, first_waiting_->next);
        --waiting_;
        waiting_time_ -= slot.occupancy;
        credits_.take(slot.blocks);
        const auto ready = std::max(slot.arrival, line_.free_from());
        if (now > ready)
            counters_.waited += now - ready;
        leave(slot, std::max(slot.arrival, now));
    }
}

void Link::Lane::take_credit(std::uint64_t bytes, port::Time at) {
    if (!has_flow_control_)
        return;
    credits_.give_back(Credits::blocks_of(bytes), at);
    if (was_refused_ || first_waiting_ != nullptr)
        link_.wake_at(credits_.next());
}

void Link::Lane::cut(port::Time at) {
    while (!is_empty() && this->at(tail_ - 1).arrival - link_.config_.latency > at) {
        ++counters_.lost;
        lose(this->at(--tail_));
    }
    while (first_waiting_ != nullptr) {
        auto& slot = *std::exchange(first_waiting_, first_waiting_->next);
        ++counters_.lost;
        release(slot);
    }
    waiting_ = 0;
    waiting_time_ = {};
}

void Link::Lane::grow() {
    std::vector<Slot*> larger(ring_.size() * 2);
    for (auto i = head_; i != tail_; ++i)
        larger[i & (larger.size() - 1)] = ring_[i & (ring_.size() - 1)];
    ring_ = std::move(larger);
}

void Link::Lane::fault(traces::LinkFaultKind what, const port::Packet& packet, port::Time at) {
    const traces::Cause cause(link_.events_, packet.cause);
    link_.events_.emit(at, traces::LinkFault{direction_, counters_.packets - 1, what});
}

void Link::Lane::send_with_care(Slot& slot, port::Time out) {
    const auto& config = link_.config_;
    auto& packet = slot.packet;
    if (link_.needs_image_)
        wire::build(packet, packet.image);
    if (link_.tap_ != nullptr)
        link_.tap_->on_frame(packet.image, direction_, out);
    if (count() >= limit_ * std::size_t{4}) {
        ++counters_.refused;
        fault("refused", packet, out);
        return lose(slot);
    }
    if (random_.chance(config.loss)) {
        ++counters_.lost;
        fault("lost", packet, out);
        return lose(slot);
    }
    if (random_.chance(config.corrupt)) {
        if (packet.image.empty())
            wire::build(packet, packet.image);
        const auto bit = random_.below(std::max<std::size_t>(1, packet.image.size() * 8));
        if (!packet.image.empty()) // a plain frame may have no bytes at all
            packet.image[bit / 8] ^= std::byte{1} << bit % 8;
        ++counters_.corrupted;
        fault("corrupted", packet, out);
    }
    Slot* twin = nullptr;
    if (random_.chance(config.duplicate)) {
        twin = take();
        twin->packet = packet;
        twin->arrival = slot.arrival;
        twin->blocks = slot.blocks;
        credits_.take(twin->blocks);
        ++counters_.duplicated;
        fault("duplicated", packet, out);
    }
    if (random_.chance(config.reorder)) {
        const auto passes = static_cast<std::uint32_t>(1 + random_.below(std::max(1u, config.reorder_depth)));
        ++counters_.reordered;
        fault("reordered", packet, out);
        held_.push_back({&slot, passes + 1, slot.arrival + config.reorder_delay});
        if (config.timed)
            link_.wake_at(held_.back().deadline);
    } else {
        push(slot);
    }
    if (twin != nullptr)
        push(*twin);
    pass_held(slot.arrival);
}

void Link::Lane::pass_held(port::Time arrival) {
    for (std::size_t i = 0; i < held_.size();) {
        if (--held_[i].passes_left != 0) {
            ++i;
            continue;
        }
        auto& slot = *held_[i].slot;
        slot.arrival = std::max(slot.arrival, arrival);
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
        push(slot);
    }
}

} // namespace model::net

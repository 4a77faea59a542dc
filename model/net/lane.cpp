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

void Link::Lane::take_pause(std::uint8_t priorities, port::Time at) {
    ++pauses_;
    changes_.push_back({priorities, changes_.empty() ? at : std::max(at, changes_.back().at)});
    link_.wake_at(at);
}

port::Time Link::Lane::send_pause(port::Time at) {
    constexpr std::uint64_t frame = abi::wire::ethernet_min_frame; // a MAC control frame (IEEE 802.3 annex 31B, 31D)
    ++counters_.pauses;
    const port::Time span{static_cast<std::int64_t>((frame + overhead_) * link_.ps_per_byte_q16_ >> 16)};
    // It is the next frame that leaves, and nothing that is booked behind has to make room for it.
    const auto begin = span.count() != 0 ? line_.book(at, span) : at;
    return begin + span;
}

void Link::Lane::collect_pauses(port::Time now) {
    for (; !changes_.empty() && changes_.front().at <= now; changes_.pop_front())
        paused_ = changes_.front().paused;
}

bool Link::Lane::is_held_up(const port::Packet& packet, port::Time at) {
    if (packet.is_plain_frame())
        return false;
    const auto bit = static_cast<std::uint8_t>(1u << port::priority_of(packet.path));
    if (((paused_at(at) | waiting_priorities_) & bit) == 0)
        return false;
    waiting_priorities_ |= bit;
    return true;
}

void Link::Lane::release_paused(port::Time now) {
    collect_pauses(now);
    goes_on_at_ = port::never;
    if ((waiting_priorities_ & ~paused_) == 0) // the next change of that comes here, too
        return;
    // What may go on leaves in the order in which it came, and the rest stays in line: what is paused, and what the
    // line has no time for yet. A port that books its line far ahead could not be stopped again.
    const auto limit = now + link_.config_.horizon;
    auto* slot = std::exchange(first_waiting_, nullptr);
    last_waiting_ = nullptr;
    waiting_priorities_ = 0;
    while (slot != nullptr) {
        auto& one = *std::exchange(slot, slot->next);
        one.next = nullptr;
        const auto bit = static_cast<std::uint8_t>(1u << port::priority_of(one.packet.path));
        const bool is_paused = paused_at(std::max(one.arrival, now)) & bit;
        if (is_paused || line_.free_from() >= limit) {
            if (!is_paused)
                goes_on_at_ = line_.free_from() - link_.config_.horizon + port::Time{1};
            waiting_priorities_ |= bit;
            (first_waiting_ == nullptr ? first_waiting_ : last_waiting_->next) = &one;
            last_waiting_ = &one;
            continue;
        }
        --waiting_;
        waiting_time_ -= one.occupancy;
        const auto ready = std::max(one.arrival, line_.free_from());
        if (now > ready)
            counters_.waited += now - ready;
        leave(one, std::max(one.arrival, now));
    }
}

/// When something is due of what a link seldom has: held packets, and what waits for room.
port::Time Link::Lane::rare_due() const {
    auto at = port::never;
    for (const auto& held : held_)
        at = std::min(at, held.deadline);
    if (first_waiting_ != nullptr)
        at = std::min(at, credits_.next());
    return changes_.empty() ? at : std::min(at, changes_.front().at);
}

void Link::Lane::take_room(port::Time now) {
    if (has_pauses_)
        return release_paused(now);
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

std::uint64_t Link::Lane::cut(port::Time last_arrival, port::Time at) {
    const auto before = counters_.lost;
    auto number = counters_.packets - waiting_;
    while (!is_empty() && this->at(tail_ - 1).arrival > last_arrival) {
        ++counters_.lost;
        fault("lost", this->at(tail_ - 1).packet, --number, at);
        lose(this->at(--tail_));
    }
    if (is_empty())
        head_arrival_ = port::never;
    for (number = counters_.packets - waiting_; first_waiting_ != nullptr; ++number) {
        auto& slot = *std::exchange(first_waiting_, first_waiting_->next);
        ++counters_.lost;
        fault("lost", slot.packet, number, at);
        release(slot);
    }
    std::erase_if(held_, [&](const Held& held) {
        if (held.slot->arrival <= last_arrival)
            return false;
        ++counters_.lost;
        fault("lost", held.slot->packet, at);
        lose(*held.slot);
        return true;
    });
    waiting_ = 0;
    waiting_time_ = {};
    changes_.clear();
    goes_on_at_ = port::never;
    paused_ = waiting_priorities_ = 0; // a link that trains again begins without
    return counters_.lost - before;
}

void Link::Lane::grow() {
    std::vector<Slot*> larger(ring_.size() * 2);
    for (auto i = head_; i != tail_; ++i)
        larger[i & (larger.size() - 1)] = ring_[i & (ring_.size() - 1)];
    ring_ = std::move(larger);
}

void Link::Lane::fault(traces::LinkFaultKind what, const port::Packet& packet, std::uint64_t number, port::Time at) {
    const traces::Cause cause(link_.events_, packet.cause);
    link_.events_.emit(at, traces::LinkFault{direction_, number, what});
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

#include "model/net/lane.h"

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
        return release(slot);
    }
    if (random_.chance(config.loss)) {
        ++counters_.lost;
        fault("lost", packet, out);
        return release(slot);
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

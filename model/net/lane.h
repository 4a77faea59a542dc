// One direction of a cable: the packets between the port that sends them and the other end, in order, and the script of
// faults. Says when there is room and when the next packet arrives, and delivers when it is told to. Private to
// link.cpp and lane.cpp.
#pragma once

#include "model/net/link.h"
#include "model/wire/builder.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <memory>
#include <vector>

namespace model::net {

/// splitmix64: small, seeded, the same everywhere.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        auto z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    /// True with probability `rate`; draws nothing when the rate is zero.
    bool chance(double rate) { return rate > 0 && static_cast<double>(next() >> 11) * 0x1p-53 < rate; }
    std::uint64_t below(std::uint64_t n) { return next() % n; }

private:
    std::uint64_t state_;
};

struct Link::Slot {
    port::Time arrival{};
    port::Packet packet;
};

struct Link::Held {
    Slot* slot;
    std::uint32_t passes_left; ///< later packets that still go first
    port::Time deadline;
};

/// One direction: the sending side of an end, and the packets between it and the other end. Slots are recycled last in,
/// first out, so that a shallow flow stays in the cache however deep the ring is.
class Link::Lane final : public port::Wire {
public:
    Lane(Link& link, unsigned direction)
        : link_(link), direction_(direction), random_(link.config_.seed * 2 + direction), ring_(64),
          overhead_(link.config_.encapsulation == port::Encapsulation::infiniband ? 0 : abi::wire::ethernet_overhead),
          limit_(link.config_.max_under_way != 0 ? link.config_.max_under_way
                 : link.config_.timed            ? 16384
                                                 : 256) {}

    bool can_send(port::Time now) override {
        booked_until_ = std::max(booked_until_, now);
        if (has_room(now)) [[likely]]
            return true;
        was_refused_ = true;
        if (link_.config_.timed)
            link_.wake_at(room_at());
        return false;
    }

    port::Packet& next() override {
        if (filling_ == nullptr)
            filling_ = take();
        filling_->packet.clear();
        return filling_->packet;
    }

    port::Time send(port::Time at) override {
        assert(filling_ != nullptr && "send() follows next()");
        Slot& slot = *filling_;
        filling_ = nullptr;
        auto& packet = slot.packet;
        if (!link_.is_up_ || !carries(packet)) [[unlikely]] {
            ++counters_.discarded;
            const traces::Cause cause(link_.events_, packet.cause);
            link_.events_.emit(at, traces::LinkFault{direction_, counters_.packets, "discarded"});
            release(slot);
            return at;
        }
        const auto bytes = wire::frame_length(packet);
        ++counters_.packets;
        counters_.bytes += bytes;
        auto out = at;
        if (link_.config_.timed) {
            const auto occupancy = (bytes + overhead_) * link_.ps_per_byte_q16_ >> 16;
            out = busy_until_ = std::max(at, busy_until_) + port::Time{static_cast<std::int64_t>(occupancy)};
            booked_until_ += port::Time{static_cast<std::int64_t>(occupancy)};
            slot.arrival = out + link_.config_.latency;
        } else {
            slot.arrival = at;
        }
        if (link_.needs_image_ || link_.has_faults_ || count() >= limit_ * std::size_t{4}) [[unlikely]] {
            send_with_care(slot, out);
            return out;
        }
        push(slot);
        return out;
    }

    bool set_on(bool is_on, port::Time at) override { return link_.set_on(direction_, is_on, at); }
    /// The link has gone at `at`: packets that had not left the port by then are lost.
    void cut(port::Time at) {
        while (!is_empty() && this->at(tail_ - 1).arrival - link_.config_.latency > at) {
            ++counters_.lost;
            release(this->at(--tail_));
        }
    }

    port::Traffic sent() const override { return {counters_.packets, counters_.bytes}; }

    std::size_t count() const { return tail_ - head_ + held_.size(); }
    bool has_arrived(port::Time until) const { return head_ != tail_ && at(head_).arrival <= until; }
    port::Time head_arrival() const { return head_ != tail_ ? at(head_).arrival : port::never; }
    bool is_empty() const { return head_ == tail_; }
    std::size_t ring_count() const { return tail_ - head_; }

    bool has_room(port::Time now) const {
        const auto& c = link_.config_;
        return count() < limit_ &&
               (!c.timed || (booked_until_ < now + c.horizon && busy_until_ < now + c.horizon + c.reach));
    }
    /// When has_room() may turn true, as far as time alone decides.
    port::Time room_at() const {
        const auto behind = std::max(booked_until_, busy_until_ - link_.config_.reach) - link_.config_.horizon;
        return std::max(behind + port::Time{1}, head_due());
    }

    /// Hands the oldest packet to the receiver; returns its arrival.
    port::Time deliver_one() {
        Slot& slot = at(head_++);
        ++counters_.delivered;
        sink->receive(slot.packet, slot.arrival);
        release(slot);
        return slot.arrival;
    }

    /// Sends held packets on whose time has come. Without timing these are all of them.
    void release_held(port::Time until);
    bool has_held() const { return !held_.empty(); }

    /// The earliest time at which this lane has something to do.
    port::Time due() const {
        auto at = head_arrival();
        for (const auto& held : held_)
            at = std::min(at, held.deadline);
        return was_refused_ ? std::min(at, room_at()) : at;
    }

    bool take_refusal(port::Time now) {
        if (!was_refused_ || !has_room(now))
            return false;
        was_refused_ = false;
        return true;
    }

    port::Receiver* sink = nullptr;   ///< at the other end
    port::Receiver* source = nullptr; ///< at this end: who sends, and is called ready()
    LinkCounters counters_;

private:
    static constexpr std::size_t block_slots = 64;

    /// Whether the link takes such a packet: an InfiniBand link takes no Ethernet frames.
    bool carries(const port::Packet& packet) const {
        return !packet.is_plain_frame() || link_.config_.encapsulation != port::Encapsulation::infiniband;
    }
    Slot& at(std::uint32_t i) const { return *ring_[i & (ring_.size() - 1)]; }
    /// A full lane has room no sooner than its first packet arrives.
    port::Time head_due() const { return count() >= limit_ ? head_arrival() : port::Time{0}; }

    Slot* take() {
        if (free_.empty()) [[unlikely]]
            make_slots();
        auto* slot = free_.back();
        free_.pop_back();
        return slot;
    }
    void make_slots();

    /// The packet has arrived or is lost. What it was lent goes back now, and not only when the slot is used again.
    void release(Slot& slot) {
        slot.packet.payload.clear();
        free_.push_back(&slot);
    }

    void push(Slot& slot) {
        if (tail_ - head_ == ring_.size()) [[unlikely]]
            grow();
        slot.arrival = last_arrival_ = std::max(slot.arrival, last_arrival_);
        ring_[tail_++ & (ring_.size() - 1)] = &slot;
        if (link_.config_.timed)
            link_.wake_at(slot.arrival);
    }

    void grow();
    void fault(traces::LinkFaultKind what, const port::Packet& packet, port::Time at);
    /// Sends a packet at which somebody looks, or on which the script of faults may act.
    void send_with_care(Slot& slot, port::Time out);
    /// A packet has passed the held ones. Those that have let enough packets pass follow it now.
    void pass_held(port::Time arrival);

    Link& link_;
    std::uint32_t direction_;
    Random random_;
    std::vector<Slot*> ring_; ///< a power of two
    std::uint32_t head_ = 0, tail_ = 0;
    std::uint64_t overhead_;
    std::size_t limit_;
    bool was_refused_ = false;
    Slot* filling_ = nullptr;
    port::Time busy_until_{}, last_arrival_{};
    port::Time booked_until_{}; ///< as busy_until_ would be, had every packet been there when it was booked
    std::vector<Held> held_;
    std::vector<Slot*> free_;
    std::vector<std::unique_ptr<Slot[]>> blocks_;
};

} // namespace model::net

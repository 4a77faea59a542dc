// One direction of a cable: the packets between the port that sends them and the other end, in order, those that wait
// for room there, and the script of faults. Says when there is room and when the next packet arrives, and delivers when
// it is told to. Private to link.cpp and lane.cpp.
#pragma once

#include "abi/wire/infiniband.h"
#include "model/net/credits.h"
#include "model/net/link.h"
#include "model/net/random.h"
#include "model/time/schedule.h"
#include "model/wire/builder.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace model::net {

struct Link::Slot {
    port::Time arrival{};     ///< of a waiting packet: when it could have left
    port::Time occupancy{};   ///< of the line
    std::uint32_t blocks = 0; ///< of the other end's buffer; 0: without flow control
    Slot* next = nullptr;     ///< that waits behind it
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
                                                 : 256),
          has_flow_control_(link.config_.timed && link.config_.credit_blocks != 0 &&
                            link.config_.encapsulation == port::Encapsulation::infiniband),
          has_pauses_(link.config_.timed && link.config_.encapsulation != port::Encapsulation::infiniband),
          credits_(has_flow_control_ ? link.config_.credit_blocks : 0) {}

    bool can_send(port::Time now) override {
        booked_until_ = std::max(booked_until_, now);
        // What waits leaves when credit for it has come, and not when a device asks ahead of now.
        if (has_flow_control_)
            credits_.collect(first_waiting_ == nullptr ? heard_by(now) : std::min(now, link_.clock_.now()));
        if (has_room(now)) [[likely]]
            return true;
        was_refused_ = true;
        if (credits_.left() < needed_ && short_since_ == port::never)
            short_since_ = now;
        if (link_.config_.timed)
            link_.wake_at(room_at());
        return false;
    }

    /// A cable without timing at which nobody looks takes as many as it has room for.
    std::uint32_t train_room(port::Time) const override {
        const bool is_plain = !link_.config_.timed && !link_.needs_image_ && !link_.has_faults_ && link_.is_up_;
        return is_plain && sink->takes_trains() ? static_cast<std::uint32_t>(limit_ - count()) : 1;
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
            counters_.discarded += packet.train.packets;
            const traces::Cause cause(link_.events_, packet.cause);
            link_.events_.emit(at, traces::LinkFault{direction_, counters_.packets, "discarded"});
            release(slot);
            return at;
        }
        const auto bytes = wire::frames_length(packet);
        counters_.packets += packet.train.packets;
        counters_.bytes += bytes;
        if (link_.config_.timed) {
            slot.occupancy = port::Time{static_cast<std::int64_t>((bytes + overhead_) * link_.ps_per_byte_q16_ >> 16)};
            booked_until_ += slot.occupancy;
        }
        slot.blocks = 0;
        if (has_flow_control_ && is_flow_controlled(packet)) {
            slot.blocks = Credits::blocks_of(bytes);
            if (first_waiting_ != nullptr || slot.blocks > credits_.left()) [[unlikely]]
                return wait(slot, at);
            credits_.take(slot.blocks);
            note_shortage(at);
        }
        if (pauses_ != 0 && is_held_up(packet, at)) [[unlikely]]
            return wait(slot, at);
        return leave(slot, at);
    }

    bool set_on(bool is_on, port::Time at) override { return link_.set_on(direction_, is_on, at); }
    void pause(std::uint8_t priorities, port::Time at) override {
        if (has_pauses_)
            link_.pause(direction_, priorities, send_pause(at));
    }
    bool is_paused(unsigned priority, port::Time now) override {
        if (pauses_ == 0) [[likely]]
            return false;
        collect_pauses(heard_by(now));
        if ((paused_ >> priority & 1) == 0)
            return false;
        asked_priorities_ |= static_cast<std::uint8_t>(1u << priority);
        return true;
    }
    void give_credit(std::uint64_t bytes, port::Time at) override { link_.free_room(direction_, bytes, at); }
    /// The other end has asked for a pause of these priorities, and of no others, which counts from `at` on.
    void take_pause(std::uint8_t priorities, port::Time at);
    /// The receiver has told at `at` of so many bytes of room.
    void take_credit(std::uint64_t bytes, port::Time at);
    /// The link has gone at `at`: packets that were to arrive after `last_arrival` are lost. Returns how many.
    std::uint64_t cut(port::Time last_arrival, port::Time at);
    /// Sends what waited for room at the other end and has it now.
    void go_on(port::Time now) {
        if (has_pauses_ ? first_waiting_ != nullptr || !changes_.empty() : has_flow_control_) [[unlikely]]
            take_room(now);
    }
    void set_source(port::Receiver& receiver);
    void set_sink(port::Receiver& receiver);
    /// The receiver at the other end is elsewhere: `far` is told of what is sent, and `nowhere` gets it here.
    void send_to(FarEnd& far, port::Receiver& nowhere) {
        far_ = &far;
        sink = &nowhere;
    }
    /// A packet whose sender is elsewhere.
    void arrive(const port::Packet& packet, port::Time arrival) {
        auto& slot = *take();
        slot.packet = packet;
        slot.arrival = arrival;
        slot.blocks = 0;
        push(slot);
    }

    port::Traffic sent() const override { return {counters_.packets, counters_.bytes}; }
    port::Hindered hindered() const override { return {counters_.discarded, counters_.waited}; }

    /// Packets under way, those of trains one by one.
    std::size_t count() const { return tail_ - head_ + in_trains_ + held_.size() + waiting_; }
    bool has_arrived(port::Time until) const { return head_arrival_ <= until; }
    port::Time head_arrival() const { return head_arrival_; }
    port::Time backlog(port::Time now) const {
        return std::max(port::Time{0}, booked_until_ - now) + waiting_time_ +
               (lacks_credit() ? link_.config_.horizon : port::Time{0});
    }
    bool is_empty() const { return head_ == tail_; }
    std::size_t ring_count() const { return tail_ - head_; }

    bool has_room(port::Time now) const {
        const auto& c = link_.config_;
        return count() < limit_ && (!c.timed || booked_until_ < now + c.horizon) && !lacks_credit();
    }
    /// Whether the port takes no more until room at the other end is granted.
    bool lacks_credit() const { return credits_.left() < needed_ || waiting_time_ > link_.config_.backlog; }
    /// When has_room() may turn true, as far as time alone decides.
    port::Time room_at() const {
        const auto room = std::max(booked_until_ - link_.config_.horizon + port::Time{1}, head_due());
        return lacks_credit() ? std::max(room, credits_.next()) : room;
    }

    /// Hands the oldest packet to the receiver; returns its arrival.
    port::Time deliver_one() {
        Slot& slot = at(head_++);
        head_arrival_ = head_ != tail_ ? at(head_).arrival : port::never;
        counters_.delivered += slot.packet.train.packets;
        in_trains_ -= slot.packet.train.packets - 1;
        last_delivered_ = slot.arrival;
        sink->receive(slot.packet, slot.arrival);
        if (has_flow_control_ && !sink_keeps_)
            credits_.give_back(slot.blocks, slot.arrival + link_.config_.latency);
        release(slot);
        return slot.arrival;
    }
    /// Whether an untimed cable may deliver one more packet.
    bool may_deliver(port::Time now) const { return !sink_keeps_ || sink->can_receive(now); }

    /// Sends held packets on whose time has come. Without timing these are all of them.
    void release_held(port::Time until);
    bool has_held() const { return !held_.empty(); }

    /// The earliest time at which this lane has something to do.
    port::Time due() const {
        auto at = std::min(head_arrival_, goes_on_at_);
        if (!held_.empty() || first_waiting_ != nullptr || !changes_.empty()) [[unlikely]]
            at = std::min(at, rare_due());
        return was_refused_ ? std::min(at, room_at()) : at;
    }

    bool take_refusal(port::Time now) {
        if (asked_priorities_ != 0) [[unlikely]] {
            collect_pauses(now);
            if ((asked_priorities_ & ~paused_) != 0) {
                asked_priorities_ &= paused_;
                return true;
            }
        }
        if (!was_refused_ || !has_room(now))
            return false;
        was_refused_ = false;
        return true;
    }

    port::Receiver* sink = nullptr;   ///< at the other end
    port::Receiver* source = nullptr; ///< at this end: who sends, and is called ready()
    LinkCounters counters_;

private:
    void take_room(port::Time now);
    port::Time rare_due() const;
    static constexpr std::size_t block_slots = 64;

    /// Every packet but those of the management lane (IBA 7.9.1).
    static bool is_flow_controlled(const port::Packet& packet) {
        return !packet.is_plain_frame() && packet.rdma().destination != abi::wire::subnet_management;
    }
    /// Puts a pause frame on the line, before what waits for it. Returns when its last bit is out.
    port::Time send_pause(port::Time at);
    void collect_pauses(port::Time now);
    /// A device that is ahead of now asks for `at`: until when it knows what the other end has told.
    port::Time heard_by(port::Time at) const { return std::min(at, link_.clock_.now() + link_.config_.early()); }
    /// What is paused at `at`, as far as it is known.
    std::uint8_t paused_at(port::Time at) const {
        auto paused = paused_;
        const auto known = heard_by(at);
        for (const auto& change : changes_)
            if (change.at <= known)
                paused = change.paused;
        return paused;
    }
    void release_paused(port::Time now);
    /// Whether a packet has to wait since the other end has paused its priority, or since others of its priority wait.
    bool is_held_up(const port::Packet& packet, port::Time at);
    /// Keeps a packet until there is room at the other end. Returns when it would leave if there was.
    port::Time wait(Slot& slot, port::Time at);
    /// A port that was refused for want of credit goes on at `at`.
    void note_shortage(port::Time at) {
        if (short_since_ == port::never) [[likely]]
            return;
        counters_.waited += std::max(port::Time{0}, at - std::max(short_since_, line_.free_from()));
        short_since_ = port::never;
    }
    /// Puts a packet on the line, no earlier than `at`. Returns when its last bit is out.
    port::Time leave(Slot& slot, port::Time at) {
        auto out = at;
        if (link_.config_.timed) {
            // What comes late from memory leaves a gap before it, for packets of others; those of one flow keep their
            // order.
            auto& begun = begun_[flow_of(slot.packet)];
            begun = std::max(at, begun);
            if (slot.occupancy.count() != 0) // what takes no time meets nobody
                begun = line_.book(begun, slot.occupancy);
            out = begun + slot.occupancy;
            slot.arrival = out + link_.config_.latency;
            slot.packet.payload.prefetch();
        } else {
            slot.arrival = at;
        }
        if (link_.needs_image_ || link_.has_faults_ || count() >= limit_ * std::size_t{4}) [[unlikely]]
            send_with_care(slot, out);
        else
            push(slot);
        return out;
    }
    /// A packet that was on the line, and never arrives. The receiver learns of it as it learns what was sent, and
    /// grants the room anew (IBA 7.9.4, FCTBS).
    void lose(Slot& slot) {
        credits_.give_back(slot.blocks, slot.arrival + link_.config_.latency);
        release(slot);
    }
    /// Whether the link takes such a packet: an InfiniBand link takes no Ethernet frames.
    bool carries(const port::Packet& packet) const {
        return !packet.is_plain_frame() || link_.config_.encapsulation != port::Encapsulation::infiniband;
    }
    /// Packets that must not overtake each other: requests of a connection, or its answers; and all plain frames. Two
    /// flows of one number keep their order, too, as queues of hardware would.
    static std::size_t flow_of(const port::Packet& packet) {
        if (packet.is_plain_frame())
            return 0;
        return (packet.rdma().destination.value * 2 + packet.traits().is_request()) % flows;
    }
    Slot& at(std::uint32_t i) const { return *ring_[i & (ring_.size() - 1)]; }
    Slot*& at_ring(std::uint32_t i) { return ring_[i & (ring_.size() - 1)]; }
    port::Time last_arrival() const { return head_ != tail_ ? at(tail_ - 1).arrival : last_delivered_; }
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

    /// Puts a packet among those under way, which are in the order of their arrival. None comes before what has been
    /// delivered.
    void push(Slot& slot) {
        if (tail_ - head_ == ring_.size()) [[unlikely]]
            grow();
        slot.arrival = std::max(slot.arrival, link_.config_.timed ? last_delivered_ : last_arrival());
        in_trains_ += slot.packet.train.packets - 1;
        auto place = tail_++;
        for (; place != head_ && at(place - 1).arrival > slot.arrival; --place)
            at_ring(place) = at_ring(place - 1);
        at_ring(place) = &slot;
        if (place == head_)
            head_arrival_ = slot.arrival;
        if (far_ != nullptr) [[unlikely]]
            far_->on_packet(slot.packet, slot.arrival);
        if (link_.config_.timed)
            link_.wake_at(slot.arrival);
    }

    void grow();
    void fault(traces::LinkFaultKind what, const port::Packet& packet, port::Time at) {
        fault(what, packet, counters_.packets - 1, at);
    }
    /// number   of the packet in its direction
    void fault(traces::LinkFaultKind what, const port::Packet& packet, std::uint64_t number, port::Time at);
    /// Sends a packet at which somebody looks, or on which the script of faults may act.
    void send_with_care(Slot& slot, port::Time out);
    /// A packet has passed the held ones. Those that have let enough packets pass follow it now.
    void pass_held(port::Time arrival);

    Link& link_;
    FarEnd* far_ = nullptr; ///< that has the receiver; nullptr: it is here
    std::uint32_t direction_;
    Random random_;
    std::vector<Slot*> ring_; ///< a power of two
    std::uint32_t head_ = 0, tail_ = 0;
    port::Time head_arrival_ = port::never; ///< of the packet at head_
    std::uint32_t in_trains_ = 0;           ///< packets of trains in `ring_`, but the first ones
    std::uint64_t overhead_;
    std::size_t limit_;
    const bool has_flow_control_;
    bool sink_keeps_ = false; ///< and says itself when its buffer has room again
    bool was_refused_ = false;
    const bool has_pauses_;
    std::uint8_t paused_ = 0;             ///< priorities, a bit each
    std::uint8_t waiting_priorities_ = 0; ///< of packets that wait since theirs was paused
    port::Time goes_on_at_ = port::never; ///< what waits and is not paused
    std::uint8_t asked_priorities_ = 0;   ///< that were paused when the sender asked
    std::uint64_t pauses_ = 0;            ///< that were heard of
    struct PauseChange {
        std::uint8_t paused;
        port::Time at;
    };
    std::deque<PauseChange> changes_; ///< that have yet to count, in the order of their times
    Credits credits_;
    std::int64_t needed_ = 0; ///< of credits_, before the port takes a packet
    Slot *first_waiting_ = nullptr, *last_waiting_ = nullptr;
    std::size_t waiting_ = 0;
    port::Time waiting_time_{}; ///< of the line
    port::Time short_since_ = port::never;
    Slot* filling_ = nullptr;
    static constexpr std::size_t flows = 256;
    time::Schedule line_;
    std::array<port::Time, flows> begun_{}; ///< when the last packet of a flow began to leave
    port::Time last_delivered_{};
    port::Time booked_until_{}; ///< until when the line were busy, had every packet been there when it was booked
    std::vector<Held> held_;
    std::vector<Slot*> free_;
    std::vector<std::unique_ptr<Slot[]>> blocks_;
};

} // namespace model::net

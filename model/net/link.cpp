#include "model/net/link.h"

#include "model/wire/builder.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <utility>

namespace model::net {
namespace {

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

std::uint32_t default_limit(const LinkConfig& config) { return config.timed ? 16384 : 256; }

} // namespace

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
          limit_(link.config_.max_under_way != 0 ? link.config_.max_under_way : default_limit(link.config_)) {}

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
    void release_held(port::Time until) {
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
        if (free_.empty()) {
            blocks_.push_back(std::make_unique<Slot[]>(block_slots));
            for (std::size_t i = block_slots; i-- > 0;)
                free_.push_back(&blocks_.back()[i]);
        }
        auto* slot = free_.back();
        free_.pop_back();
        return slot;
    }

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

    void grow() {
        std::vector<Slot*> larger(ring_.size() * 2);
        for (auto i = head_; i != tail_; ++i)
            larger[i & (larger.size() - 1)] = ring_[i & (ring_.size() - 1)];
        ring_ = std::move(larger);
    }

    void fault(traces::LinkFaultKind what, const port::Packet& packet, port::Time at) {
        const traces::Cause cause(link_.events_, packet.cause);
        link_.events_.emit(at, traces::LinkFault{direction_, counters_.packets - 1, what});
    }

    /// Sends a packet at which somebody looks, or on which the script of faults may act.
    void send_with_care(Slot& slot, port::Time out) {
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

    /// A packet has passed the held ones. Those that have let enough packets pass follow it now.
    void pass_held(port::Time arrival) {
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
    lanes_[i]->source = &receiver;
    lanes_[1 - i]->sink = &receiver;
}

const LinkCounters& Link::counters(unsigned direction) const { return lanes_[direction]->counters_; }
std::size_t Link::under_way(unsigned direction) const { return lanes_[direction]->count(); }

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
            for (; left != 0; --left)
                last = lane->deliver_one();
            lane->sink->received_all(last);
        }
        return any;
    }
    for (auto& lane : lanes_)
        if (lane->has_held())
            lane->release_held(until);
    std::array<port::Time, 2> last{port::never, port::never};
    for (;;) {
        const unsigned i = b->head_arrival() < a->head_arrival();
        if (!lanes_[i]->has_arrived(until))
            break;
        last[i] = lanes_[i]->deliver_one();
    }
    for (unsigned i = 0; i < 2; ++i)
        if (last[i] != port::never)
            lanes_[i]->sink->received_all(last[i]);
    return last[0] != port::never || last[1] != port::never;
}

bool Link::set_on(unsigned end, bool is_on, port::Time at) {
    is_on_[end] = is_on;
    const bool was_up = std::exchange(is_up_, is_on_[0] && is_on_[1]);
    if (is_up_ == was_up)
        return is_up_;
    changes_.push_back({1 - end, is_up_, at});
    if (config_.timed) {
        if (!is_up_)
            for (auto& lane : lanes_)
                lane->cut(at);
        wake_at(at);
    }
    return is_up_;
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
    // Packets may be delivered early by up to the latency, since nothing that is sent from now on arrives before that.
    const auto until = config_.timed ? now + std::min(config_.quantum, config_.latency) : port::never;
    for (bool busy = true; busy;) {
        busy = deliver(now, until);
        busy = tell(until) || busy;
        busy = offer_room(now) || busy;
    }
    is_pumping_ = false;
    if (!config_.timed)
        return;
    auto due = std::min(lanes_[0]->due(), lanes_[1]->due());
    if (!changes_.empty())
        due = std::min(due, changes_.front().at);
    if (due != port::never)
        wake_at(std::max(due, now));
}

} // namespace model::net

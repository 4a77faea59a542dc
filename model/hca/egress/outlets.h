// Where packets leave: by the cable, or by the way inside the port that leads back to the port itself (IBA 17.2.3,
// loopback). A connection's outlet is chosen when its path is set, a datagram's with its work request. One that is full
// holds up nobody at the other.
#pragma once

#include "model/hca/queue/queue_pair.h"
#include "model/port/wire.h"

namespace model::hca::egress {

class Outlets {
public:
    /// Both ends of `inside` are this port. With nullptr everything goes by the cable.
    Outlets(port::Wire& cable, port::Wire* inside) : cable_(cable), inside_(inside) {}

    port::Wire& cable() { return cable_; }
    /// The way inside the port, or nullptr when there is none. Whoever asks may use it, so from now on it also counts
    /// for can_send(): one that nobody uses is not asked for room, which most cards never need.
    port::Wire* inside() {
        is_inside_used_ = inside_ != nullptr;
        return inside_;
    }
    port::Wire& way(bool is_to_self) {
        if (!is_to_self) [[likely]]
            return cable_;
        auto* back = inside();
        return back != nullptr ? *back : cable_;
    }
    /// Of a connection, as chosen when its path was set.
    port::Wire& of(const queue::QueuePair& qp) { return qp.outlet == queue::Way::inside ? *inside_ : cable_; }
    queue::Way name(const port::Wire& way) const { return &way == inside_ ? queue::Way::inside : queue::Way::cable; }
    /// Whether a way has room. An open way has room when the cable or the way inside has.
    bool can_send(queue::Way way, port::Time now) {
        const bool is_inside_free = way != queue::Way::cable && is_inside_used_ && inside_->can_send(now);
        return is_inside_free || (way != queue::Way::inside && cable_.can_send(now));
    }

private:
    port::Wire& cable_;
    port::Wire* inside_;
    bool is_inside_used_ = false;
};

} // namespace model::hca::egress

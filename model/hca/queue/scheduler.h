// Which queue pair sends next: round robin over those with work, a bounded number of bytes a turn, so that a queue pair
// with a long message delays the others by one turn only, and those with short messages get as much of the wire.
// Answers (READ responses, ACKs) and requests have equal shares of a turn. A queue pair whose way out is full waits for
// that way and lets the others pass; a turn that ends so goes on when there is room.
#pragma once

#include "model/hca/intrusive_list.h"
#include "model/hca/queue/queue_pair.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace model::hca::queue {

/// How many bytes a queue pair may send before the next one has its turn. A packet that begins within them is sent as a
/// whole, and what goes beyond is taken off the next turn.
struct Turn {
    std::int64_t answers = 0, requests = 0;
    bool is_over() const { return answers <= 0 && requests <= 0; }
};

class Scheduler {
public:
    /// Whose turn it is, and how much it may send: a whole turn, or what is left of an interrupted one.
    struct Next {
        QueuePair* qp = nullptr;
        Turn turn;
        explicit operator bool() const { return qp != nullptr; }
    };

    /// The queue pair may have something to send.
    void add(QueuePair& qp) {
        if (is_ready(qp))
            return;
        if (qp.service.is_datagram)
            qp.way = Way::open;
        qp.ticket = ++tickets_;
        lane(qp.way).ready.push_back(qp);
    }
    /// Takes out of the list, of the queue pairs whose way has room, the one that has waited longest.
    template <class HasRoom> Next take(std::int64_t bytes, HasRoom&& has_room) {
        Lane* best = nullptr;
        for (const auto way : {Way::cable, Way::inside, Way::open}) {
            auto& lane = this->lane(way);
            if (!lane.ready.is_empty() && has_room(way) &&
                (best == nullptr || lane.ready.front().ticket < best->ready.front().ticket))
                best = &lane;
        }
        if (best == nullptr)
            return {};
        auto& qp = best->ready.front();
        best->ready.remove(qp);
        const bool goes_on = std::exchange(best->interrupted, nullptr) == &qp;
        return {&qp, goes_on ? best->rest : Turn{bytes - qp.overdrawn_answers, bytes - qp.overdrawn_requests}};
    }
    /// The queue pair's turn is over, with so much left of it, and there is more to send.
    void add_behind(QueuePair& qp, const Turn& rest) {
        qp.overdrawn_answers = static_cast<std::int32_t>(-std::min<std::int64_t>(rest.answers, 0));
        qp.overdrawn_requests = static_cast<std::int32_t>(-std::min<std::int64_t>(rest.requests, 0));
        add(qp);
    }
    /// The way became full within the queue pair's turn. When it has room again, this queue pair goes first, with the
    /// rest of its turn.
    void interrupt(QueuePair& qp, Way full, const Turn& rest) {
        if (is_ready(qp) || rest.is_over())
            return add_behind(qp, rest);
        qp.way = full;
        qp.ticket = 0;
        auto& lane = this->lane(full);
        lane.ready.push_front(qp);
        lane.interrupted = &qp;
        lane.rest = rest;
    }
    /// The queue pair's packets leave by another way from now on.
    void move(QueuePair& qp, Way way) {
        const bool was_ready = is_ready(qp);
        remove(qp);
        qp.way = way;
        if (was_ready)
            add(qp);
    }
    /// Forgets a queue pair that is about to go.
    void remove(QueuePair& qp) {
        lane(qp.way).ready.remove(qp);
        for (auto& lane : lanes_)
            if (lane.interrupted == &qp)
                lane.interrupted = nullptr;
    }
    void clear() {
        for (auto& lane : lanes_)
            lane.ready.clear(), lane.interrupted = nullptr;
    }

private:
    struct Lane {
        List<QueuePair, Ready> ready;
        QueuePair* interrupted = nullptr; ///< the first in the list, when its turn is not over
        Turn rest;
    };
    static bool is_ready(const QueuePair& qp) { return static_cast<const Linked<QueuePair, Ready>&>(qp).is_linked(); }
    Lane& lane(Way way) { return lanes_[static_cast<std::size_t>(way)]; }

    std::array<Lane, 3> lanes_; ///< by way
    std::uint64_t tickets_ = 0;
};

} // namespace model::hca::queue

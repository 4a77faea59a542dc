// Which queue pair sends next: round robin over those with work, a bounded number of packets a turn, so that a queue
// pair with a long message delays the others by one turn only. Answers (READ responses, ACKs) and requests have equal
// shares of a turn. A turn that ends because the port is full goes on when the port has room.
#pragma once

#include "model/hca/intrusive_list.h"
#include "model/hca/queue/queue_pair.h"

#include <cstdint>
#include <utility>

namespace model::hca::queue {

/// How many packets a queue pair may send before the next one has its turn.
struct Turn {
    std::uint32_t answers = 0, requests = 0;
};

class Scheduler {
public:
    /// The queue pair may have something to send.
    void add(QueuePair& qp) {
        if (!is_ready(qp))
            ready_.push_back(qp);
    }
    bool has_work() const { return !ready_.is_empty(); }
    /// The next queue pair, taken out of the list.
    QueuePair& take() {
        auto& qp = ready_.front();
        ready_.remove(qp);
        return qp;
    }
    /// What the queue pair that was just taken may send: the rest of its turn, or a new one of `packets`.
    Turn turn(const QueuePair& qp, std::uint32_t packets) {
        return std::exchange(interrupted_, nullptr) == &qp ? rest_ : Turn{packets, packets};
    }
    /// The port is full within the queue pair's turn: it is the next one, with the rest of its turn.
    void interrupt(QueuePair& qp, const Turn& rest) {
        if (is_ready(qp) || (rest.answers == 0 && rest.requests == 0))
            return add(qp);
        ready_.push_front(qp);
        interrupted_ = &qp;
        rest_ = rest;
    }
    /// Forgets a queue pair that is about to go.
    void remove(QueuePair& qp) {
        ready_.remove(qp);
        if (interrupted_ == &qp)
            interrupted_ = nullptr;
    }
    void clear() { ready_.clear(), interrupted_ = nullptr; }

private:
    static bool is_ready(const QueuePair& qp) { return static_cast<const Linked<QueuePair, Ready>&>(qp).is_linked(); }

    List<QueuePair, Ready> ready_;
    QueuePair* interrupted_ = nullptr; ///< the first in the list, when its turn is not over
    Turn rest_;
};

} // namespace model::hca::queue

// Which queue pair sends next: round robin over those with work, a bounded number of packets a turn, so that a queue pair
// with a long message delays the others by one turn only. Answers (READ responses, ACKs) and requests share the turns.
#pragma once

#include "model/hca/queue/queue_pair.h"
#include "model/hca/queue/ring.h"

namespace model::hca::queue {

class Scheduler {
public:
    /// The queue pair may have something to send.
    void add(QueuePair& qp) {
        if (qp.in_ready_list)
            return;
        qp.in_ready_list = true;
        ready_.push(&qp);
    }
    bool has_work() const { return !ready_.is_empty(); }
    /// The next queue pair, taken out of the list.
    QueuePair& take() {
        auto& qp = *ready_.front();
        ready_.pop();
        qp.in_ready_list = false;
        return qp;
    }
    /// Forgets a queue pair that is about to go.
    void remove(QueuePair& qp) {
        if (!qp.in_ready_list)
            return;
        for (auto left = ready_.size(); left != 0; --left) {
            auto* other = ready_.front();
            ready_.pop();
            if (other != &qp)
                ready_.push(other);
        }
        qp.in_ready_list = false;
    }
    void clear() { ready_.clear(); }

private:
    Ring<QueuePair*> ready_;
};

} // namespace model::hca::queue

// Deadlines of queue pairs: a binary heap with at most one entry each. A deadline that moves later costs nothing: its
// entry is looked at when it comes up and put back; one that moves earlier moves its entry.
#pragma once

#include "model/hca/queue/queue_pair.h"
#include "model/port/clock.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace model::hca::queue {

class Timers {
public:
    explicit Timers(port::Clock& clock) : clock_(clock) {}

    /// Moves the deadline of `qp`; `expire` will report it then. port::never: none.
    void set(QueuePair& qp, port::Time at) {
        qp.timer.deadline = at;
        if (at >= qp.timer.entry)
            return;
        if (qp.timer.slot == Timer::no_slot) {
            qp.timer.slot = heap_.size();
            heap_.push_back(&qp);
        }
        qp.timer.entry = at;
        rise(qp.timer.slot);
        clock_.wake_at(at);
    }
    /// Calls `due(qp)` for every queue pair whose deadline is not after `now`, earliest first. The queue pair has no
    /// deadline any more when it is called.
    template <class Due> void expire(port::Time now, Due&& due) {
        while (!heap_.empty() && heap_.front()->timer.entry <= now) {
            auto& qp = *heap_.front();
            remove(qp);
            const auto deadline = std::exchange(qp.timer.deadline, port::never);
            if (deadline > now)
                set(qp, deadline); // it has moved to later, or to never
            else
                due(qp);
        }
        if (!heap_.empty())
            clock_.wake_at(heap_.front()->timer.entry);
    }
    /// Takes the queue pair's entry out, as before the queue pair is destroyed.
    void remove(QueuePair& qp) {
        const auto slot = std::exchange(qp.timer.slot, Timer::no_slot);
        qp.timer.entry = port::never;
        if (slot == Timer::no_slot)
            return;
        auto* last = heap_.back();
        heap_.pop_back();
        if (last == &qp)
            return;
        place(slot, last);
        rise(slot);
        sink(last->timer.slot);
    }
    void clear() { heap_.clear(); }
    std::size_t size() const { return heap_.size(); }

private:
    /// Equal times expire in the order of the queue pair numbers, so that runs repeat exactly.
    static bool is_earlier(const QueuePair& a, const QueuePair& b) {
        return a.timer.entry != b.timer.entry ? a.timer.entry < b.timer.entry : a.number < b.number;
    }
    void place(std::size_t slot, QueuePair* qp) {
        heap_[slot] = qp;
        qp->timer.slot = slot;
    }
    void rise(std::size_t slot) {
        auto* qp = heap_[slot];
        for (; slot != 0 && is_earlier(*qp, *heap_[(slot - 1) / 2]); slot = (slot - 1) / 2)
            place(slot, heap_[(slot - 1) / 2]);
        place(slot, qp);
    }
    void sink(std::size_t slot) {
        auto* qp = heap_[slot];
        for (auto child = 2 * slot + 1; child < heap_.size(); child = 2 * slot + 1) {
            if (child + 1 < heap_.size() && is_earlier(*heap_[child + 1], *heap_[child]))
                ++child;
            if (!is_earlier(*heap_[child], *qp))
                break;
            place(slot, heap_[child]);
            slot = child;
        }
        place(slot, qp);
    }

    port::Clock& clock_;
    std::vector<QueuePair*> heap_;
};

} // namespace model::hca::queue

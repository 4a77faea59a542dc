// Deadlines of queue pairs: a binary heap with at most one entry each. A deadline that moves later costs nothing: its
// entry is looked at when it comes up and put back.
#pragma once

#include "abi/types.h"
#include "model/hca/queue/queue_pair.h"
#include "model/port/clock.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace model::hca {

class Timers {
public:
    explicit Timers(port::Clock& clock) : clock_(clock) {}

    /// Adds an entry for `qpn`; set_deadline() below decides when one is needed.
    void add(abi::Qpn qpn, port::Time at) {
        heap_.push_back({at, qpn.value});
        std::push_heap(heap_.begin(), heap_.end(), std::greater{});
        clock_.wake_at(at);
    }
    /// Calls `due(qpn, entry's time)` for every entry up to `now`, earliest first; entries are taken out before the call.
    template <class Due> void expire(port::Time now, Due&& due) {
        while (!heap_.empty() && heap_.front().at <= now) {
            const auto entry = heap_.front();
            std::pop_heap(heap_.begin(), heap_.end(), std::greater{});
            heap_.pop_back();
            due(abi::Qpn{entry.qpn}, entry.at);
        }
        if (!heap_.empty())
            clock_.wake_at(heap_.front().at);
    }
    void clear() { heap_.clear(); }
    bool is_empty() const { return heap_.empty(); }

private:
    struct Entry {
        port::Time at;
        std::uint32_t qpn; ///< second, so that equal deadlines expire in a fixed order
        auto operator<=>(const Entry&) const = default;
    };
    port::Clock& clock_;
    std::vector<Entry> heap_;
};

/// Moves the deadline of a queue pair. Only a deadline earlier than its entry needs a new entry; the old one is then
/// recognised as stale by its time when it comes up.
inline void set_deadline(queue::QueuePair& qp, Timers& timers, port::Time at) {
    qp.deadline = at;
    if (at < qp.timer_entry) {
        qp.timer_entry = at;
        timers.add(qp.number, at);
    }
}

} // namespace model::hca

// Event moderation of completion queues (PRM "CQ moderation", cq_period and cq_max_count): an event that is due waits
// until enough completions are there, or long enough after the first. Keeps who waits; hca/completion/cqe_writer sends
// the event.
#pragma once

#include "model/hca/queue/completion_queue.h"
#include "model/port/clock.h"

#include <set>

namespace model::hca::completion {

using queue::CompletionQueue;

class Moderation {
public:
    explicit Moderation(port::Clock& clock) : clock_(clock) {}

    /// Whether the event waits. It reports `pending` completions, of which the first one starts the period.
    bool holds_back(CompletionQueue& cq, std::uint64_t pending, port::Time at) {
        const auto& limit = cq.attributes.moderation;
        if (limit.period == port::Time{} || pending >= limit.max_count)
            return false;
        if (cq.event_at == port::never) {
            cq.event_at = at + limit.period;
            waiting_.insert(&cq);
            clock_.wake_at(cq.event_at);
        }
        return true;
    }
    /// The queue waits no more: its event was sent, or it is about to be destroyed.
    void forget(CompletionQueue& cq) {
        if (cq.event_at == port::never)
            return;
        waiting_.erase(&cq);
        cq.event_at = port::never;
    }
    /// Calls `due(cq)` for each queue whose time is over.
    template <class Due> void expire(port::Time now, Due&& due) {
        while (!waiting_.empty() && (*waiting_.begin())->event_at <= now) {
            auto& cq = **waiting_.begin();
            forget(cq);
            due(cq);
        }
        if (!waiting_.empty())
            clock_.wake_at((*waiting_.begin())->event_at);
    }
    void clear() { waiting_.clear(); }

private:
    /// Queues whose times are equal come in the order of their numbers, so that runs repeat exactly.
    struct Earlier {
        bool operator()(const CompletionQueue* a, const CompletionQueue* b) const {
            return a->event_at != b->event_at ? a->event_at < b->event_at : a->number < b->number;
        }
    };

    port::Clock& clock_;
    std::set<CompletionQueue*, Earlier> waiting_; ///< those with an event_at
};

} // namespace model::hca::completion

// Event moderation of completion queues (PRM "CQ moderation", cq_period and cq_max_count): an event that is due waits until
// enough completions are there, or long enough after the first. Keeps who waits; hca/completion/cqe_writer sends the event.
#pragma once

#include "model/hca/completion/completion_queue.h"
#include "model/port/clock.h"

#include <algorithm>
#include <vector>

namespace model::hca::completion {

class Moderation {
public:
    explicit Moderation(port::Clock& clock) : clock_(clock) {}

    /// Whether the event waits: `pending` completions are told by it. The first one starts the period.
    bool holds_back(CompletionQueue& cq, std::uint64_t pending, port::Time at) {
        const auto& limit = cq.attributes.moderation;
        if (limit.period == port::Time{} || pending >= limit.max_count)
            return false;
        if (cq.event_at == port::never) {
            cq.event_at = at + limit.period;
            waiting_.push_back(&cq);
            clock_.wake_at(cq.event_at);
        }
        return true;
    }
    /// The queue waits no more: its event is out, or it goes.
    void forget(CompletionQueue& cq) {
        if (cq.event_at == port::never)
            return;
        cq.event_at = port::never;
        std::erase(waiting_, &cq);
    }
    /// Calls `due(cq)` for each queue whose time is over.
    template <class Due> void expire(port::Time now, Due&& due) {
        while (true) {
            const auto next = std::ranges::min_element(waiting_, {}, &CompletionQueue::event_at);
            if (next == waiting_.end())
                return;
            if ((*next)->event_at > now)
                return clock_.wake_at((*next)->event_at);
            auto& cq = **next;
            forget(cq);
            due(cq);
        }
    }
    void clear() { waiting_.clear(); }

private:
    port::Clock& clock_;
    std::vector<CompletionQueue*> waiting_; ///< those with an event_at; few at any time
};

} // namespace model::hca::completion

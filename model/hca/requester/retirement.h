// Messages end in order (IBA 9.7.5.1, 10.8.5): completes those at the front of a queue pair's list that are done, and
// fails the first one that cannot be.
#pragma once

#include "model/hca/completion/failure.h"
#include "model/hca/completion/local_error.h"
#include "model/hca/completion/work_completions.h"
#include "model/hca/counters.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/queue/scheduler.h"

#include <cstddef>
#include <span>

namespace model::hca::requester {

class Retirement {
public:
    Retirement(completion::WorkCompletions& completions, completion::Failure& failure, queue::Scheduler& scheduler,
               Counters& counters)
        : completions_(completions), failure_(failure), scheduler_(scheduler), counters_(counters) {}

    /// Completes every message at the front that is done, and fails the first one that cannot be. The completion of the
    /// oldest one carries `answer`.
    void retire(queue::QueuePair& qp, port::Time at, std::span<const std::byte> answer = {});
    /// The oldest message fails: its error completion, then the error state. Without acknowledges only the send queue
    /// stops (IBA 10.3.1.5), as nothing the peer sends depends on it.
    void fail_front(queue::QueuePair& qp, const completion::LocalError& error, port::Time at);
    /// The same for an error that this side has found, which also counts in its counter set.
    void fail_front_locally(queue::QueuePair& qp, const completion::LocalError& error, port::Time at) {
        count(qp, error);
        fail_front(qp, error, at);
    }
    /// Marks a message that fails on this side. The error is reported when every earlier message is complete, and
    /// nothing behind it is sent.
    void stop(queue::QueuePair& qp, queue::Outstanding& message, const completion::LocalError& error, port::Time at);

private:
    void complete_front(queue::QueuePair& qp, port::Time at, std::span<const std::byte> answer);
    static void count(const queue::QueuePair& qp, const completion::LocalError& error);

    completion::WorkCompletions& completions_;
    completion::Failure& failure_;
    queue::Scheduler& scheduler_;
    Counters& counters_;
};

} // namespace model::hca::requester

// The way into the error state (IBA 10.3.1.6; PRM "QP state, ERR"): completes every posted work request with "flushed",
// in order, and reports asynchronous events. Receives a queue pair and why; everything that fails goes through here.
#pragma once

#include "model/hca/completion/work_completions.h"
#include "model/hca/event/event_queue.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/queue/timers.h"
#include "model/port/dma.h"
#include "traces/events.h"

namespace model::hca::completion {

class Failure {
public:
    Failure(port::Dma& dma, WorkCompletions& completions, event::EventQueues& event_queues, queue::Timers& timers,
            const traces::Events& events)
        : dma_(dma), completions_(completions), event_queues_(event_queues), timers_(timers), events_(events) {}

    /// To the error state; both queues are flushed. Does nothing for a queue pair that is there already.
    void enter_error(queue::QueuePair& qp, port::Time at);
    /// As above, with an asynchronous event: access violation, invalid request, or catastrophic error.
    void enter_error(queue::QueuePair& qp, abi::prm::EventType why, port::Time at);
    /// To the send queue error state, where only sending ends (IBA 10.3.1.5): what an unreliable service does.
    void enter_send_error(queue::QueuePair& qp, port::Time at);
    /// Error states: send WQEs that were posted since are flushed too.
    void flush_sends(queue::QueuePair& qp, port::Time at);
    /// Error state: the same for receive WQEs. They come without a doorbell, so no device is told of them; all it can
    /// do is look at the record. It does so whenever software does something about the queue pair or arms its receive
    /// queue's completions, and by itself each time as much time has passed as since then: what is posted right away is
    /// found right away, nothing is missed, and a queue pair that is left alone costs less and less. The instants are
    /// multiples of the intervals, so that one of them serves every queue pair that has been in error for about as
    /// long.
    void flush_receives(queue::QueuePair& qp, port::Time at);
    /// Software has done something about a queue pair in error, as before it posts there.
    void look_again(queue::QueuePair& qp, port::Time at);
    /// Software arms a completion queue: of the queue pairs in error that complete there, the next few are looked at.
    void look_again(CompletionQueue& cq, port::Time at);
    /// The queue pair leaves the error state, or goes.
    static void forget(queue::QueuePair& qp);

private:
    port::Dma& dma_;
    WorkCompletions& completions_;
    event::EventQueues& event_queues_;
    queue::Timers& timers_;
    const traces::Events& events_;
};

} // namespace model::hca::completion

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

    /// Puts a queue pair into the error state and flushes both queues. Does nothing for one that is there already.
    void enter_error(queue::QueuePair& qp, port::Time at);
    /// The same with an asynchronous event that says why: access violation, invalid request, or catastrophic error.
    void enter_error(queue::QueuePair& qp, abi::prm::EventType why, port::Time at);
    /// Puts a queue pair of an unreliable service into the send queue error state, where only sending ends
    /// (IBA 10.3.1.5).
    void enter_send_error(queue::QueuePair& qp, port::Time at);
    /// Completes every posted send WQE with "flushed". A doorbell in an error state has it done for later ones, too.
    void flush_sends(queue::QueuePair& qp, port::Time at);
    /// Does the same for receive WQEs, of which no doorbell tells the device: all it can do is look at the record. It
    /// looks whenever software does something about the queue pair or arms the completion queue of its receives, and
    /// by itself after an interval that doubles each time nothing new was found. So what is posted right away is found
    /// right away, nothing is missed, and a queue pair that is left alone costs less and less. The device looks at
    /// multiples of the interval, so that one instant serves every queue pair that has been in error for about as long.
    void flush_receives(queue::QueuePair& qp, port::Time at);
    /// To be called when software does something about a queue pair, as it may post receives next: looks for them if
    /// the queue pair is in error, and then in the shortest interval again.
    void look_again(queue::QueuePair& qp, port::Time at);
    /// To be called when software arms a completion queue: does the same for the next few of the queue pairs in error
    /// that complete there.
    void look_again(CompletionQueue& cq, port::Time at);
    /// The queue pair leaves the error state, or is about to be destroyed.
    static void forget(queue::QueuePair& qp);

private:
    port::Dma& dma_;
    WorkCompletions& completions_;
    event::EventQueues& event_queues_;
    queue::Timers& timers_;
    const traces::Events& events_;
};

} // namespace model::hca::completion

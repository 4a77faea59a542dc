// Recovery (IBA 9.7.5.1, 9.7.5.2.8, 9.9.2.1): deadlines, going back to a packet, retry counts.
#pragma once

#include "model/hca/queue/queue_pair.h"
#include "model/hca/queue/scheduler.h"
#include "model/hca/queue/timers.h"
#include "model/hca/report.h"
#include "model/hca/requester/retirement.h"

#include <cstdint>

namespace model::hca::requester {

class Retry {
public:
    Retry(Retirement& retirement, queue::Scheduler& scheduler, queue::Timers& timers, const Report& report)
        : retirement_(retirement), scheduler_(scheduler), timers_(timers), report_(report) {}

    /// A packet left at `at`: an answer has to come within the time-out.
    void watch(queue::QueuePair& qp, port::Time at);
    /// The peer answered: retry counts start afresh, the time-out runs from now on or ends.
    void progress(queue::QueuePair& qp, port::Time at);
    /// The deadline has passed: the RNR pause is over, or no answer came.
    void expire(queue::QueuePair& qp, port::Time at);
    /// Puts the sending position to the packet `psn`.
    void go_back(queue::QueuePair& qp, abi::Psn psn, port::Time at);
    /// The same, as one of the tries that the queue pair has; the message fails when none is left.
    void retry(queue::QueuePair& qp, abi::Psn psn, traces::RetryReason reason, port::Time at);
    /// An implied NAK (IBA 9.7.5.1.3): the oldest answer is missing. Asked for once; what else is under way behind the
    /// gap says nothing new.
    void ask_again(queue::QueuePair& qp, port::Time at);
    /// RNR NAK (IBA 9.7.5.2.8): the receiver had no buffer; the same packet again after the time it asks for.
    void wait_for_receiver(queue::QueuePair& qp, abi::Psn psn, std::uint8_t timer, port::Time at);

private:
    Retirement& retirement_;
    queue::Scheduler& scheduler_;
    queue::Timers& timers_;
    Report report_;
};

} // namespace model::hca::requester

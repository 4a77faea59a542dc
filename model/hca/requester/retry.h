// Recovery from lost and refused packets (IBA 9.7.5.1, 9.7.5.2.8, 9.9.2.1): watches deadlines, goes back to the packet
// that has to be sent again, and counts the tries that are left.
#pragma once

#include "model/hca/config.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/queue/scheduler.h"
#include "model/hca/queue/timers.h"
#include "model/hca/report.h"
#include "model/hca/requester/retirement.h"

#include <cstdint>

namespace model::hca::requester {

class Retry {
public:
    Retry(const HcaConfig& config, Retirement& retirement, queue::Scheduler& scheduler, queue::Timers& timers,
          const Report& report)
        : config_(config), is_selective_(config.selective_repeat), retirement_(retirement), scheduler_(scheduler),
          timers_(timers), report_(report) {}

    /// A packet has left at `at`, so an answer has to come within the time-out. A deadline that is set already stays.
    void watch(queue::QueuePair& qp, port::Time at);
    /// The peer has answered: retry counts start afresh, and the time-out with them while anything is unanswered.
    void progress(queue::QueuePair& qp, port::Time at);
    /// What was answered while it waited to be sent again is not: sending goes on with the oldest packet that is not
    /// answered (IBA 9.7.5.1.1, 9.9.2.1.1).
    static void pass_answered(queue::QueuePair& qp);
    /// The deadline has passed: the RNR pause is over, or no answer came.
    void expire(queue::QueuePair& qp, port::Time at);
    /// Puts the sending position back to packet `psn`.
    void go_back(queue::QueuePair& qp, abi::Psn psn, port::Time at);
    /// Goes back, or with selective repeat has `psn` sent again alone, unless nothing has come for so long: one of the
    /// tries that the queue pair has. The oldest message fails when no try is left.
    /// `packets`: so many of the answer to a READ are missing.
    void retry(queue::QueuePair& qp, abi::Psn psn, traces::RetryReason reason, port::Time at,
               std::uint32_t packets = ~std::uint32_t{0});
    /// The oldest answer is missing (IBA 9.7.5.1.3, implied NAK). Asks for it once: further answers behind the gap say
    /// nothing new. `until` is the first that is there, or was not asked for.
    void ask_again(queue::QueuePair& qp, abi::Psn until, port::Time at);
    /// What had to be sent again has been, or need not be: sending goes on where it was.
    static void resume(queue::QueuePair& qp);
    /// The receiver had no buffer (IBA 9.7.5.2.8, RNR NAK). Sends the same packet again after the time it asks for.
    void wait_for_receiver(queue::QueuePair& qp, abi::Psn psn, std::uint8_t timer, port::Time at);

private:
    void repeat(queue::QueuePair& qp, abi::Psn psn, port::Time at);
    /// retry() without counting it.
    void try_again(queue::QueuePair& qp, abi::Psn psn, traces::RetryReason reason, port::Time at,
                   std::uint32_t packets);
    bool is_adaptive(const queue::QueuePair& qp) const;
    port::Time timeout(const queue::QueuePair& qp) const;

    const HcaConfig& config_;
    bool is_selective_;
    Retirement& retirement_;
    queue::Scheduler& scheduler_;
    queue::Timers& timers_;
    Report report_;
};

} // namespace model::hca::requester

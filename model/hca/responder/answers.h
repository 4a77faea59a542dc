// What the peer is owed (IBA 9.7.5.1, 9.7.5.2): ACKs that wait to be merged, NAKs, READ responses and atomic results,
// in the order of their requests. Receives what became of a request; keeps the answers until answer_sender sends them.
#pragma once

#include "abi/wire/infiniband.h"
#include "model/hca/completion/failure.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/queue/scheduler.h"
#include "model/hca/report.h"

#include <utility>
#include <vector>

namespace model::hca::responder {

class Answers {
public:
    Answers(queue::Scheduler& scheduler, completion::Failure& failure, const Report& report)
        : scheduler_(scheduler), failure_(failure), report_(report) {}

    /// The peer is owed an ACK for everything so far. It waits for the end of the batch, so that one ACK answers all
    /// requests that were carried out by the same time.
    void owe_ack(queue::QueuePair& qp, port::Time at);
    /// Queues an answer. It implies an ACK for what came before, so a held-back one is dropped.
    void respond(queue::QueuePair& qp, queue::Response response, port::Time at);
    /// Queues a NAK or RNR NAK, for the expected packet or for another one. An unreliable service has no NAKs: there
    /// this does nothing, and the packet is silently dropped.
    void refuse(queue::QueuePair& qp, std::uint8_t syndrome, port::Time at) {
        refuse(qp, syndrome, qp.responder.order.expected, qp.responder.order.msn, at);
    }
    void refuse(queue::QueuePair& qp, std::uint8_t syndrome, abi::Psn psn, std::uint32_t msn, port::Time at);
    /// Queues a NAK and puts the queue pair into the error state (IBA 9.9.3, responder classes C and beyond).
    void refuse_and_fail(queue::QueuePair& qp, abi::wire::NakCode code, port::Time at);
    /// Puts the queue pair into the error state behind a NAK, with the event that says why.
    void fail(queue::QueuePair& qp, abi::wire::NakCode code, port::Time at);
    /// Whether as many READs and atomics wait for their answer as the peer may have outstanding. For a new request
    /// repeats do not count, since a repeat may be the late copy of a request that was answered long ago. For a repeat
    /// all of them count.
    static bool is_limit_reached(const queue::QueuePair& qp, bool counts_repeats);

    /// To be called when the batch is over: calls `send(qp, ack)` for each ACK that was held back.
    template <class Send> void release(Send&& send) {
        for (auto* qp : owing_) {
            auto& own = qp->responder.answers;
            own.in_ack_list = false;
            if (!std::exchange(own.ack_pending, false))
                continue;
            auto answer = ack(*qp); // of requests that did not ask, too, if they were carried out by then
            answer.earliest = own.ack.earliest;
            answer.cause = own.ack.cause;
            send(*qp, qp->responder.order.executed == own.ack.earliest ? answer : own.ack);
        }
        owing_.clear();
    }
    /// The queue pair goes.
    void forget(queue::QueuePair& qp);

private:
    void enqueue(queue::QueuePair& qp, const queue::Response& response);
    /// An ACK for everything before the packet that is expected.
    static queue::Response ack(const queue::QueuePair& qp) {
        return {.kind = queue::Response::Kind::acknowledge,
                .syndrome = abi::wire::ack_syndrome(),
                .psn = qp.responder.order.expected + abi::Psn::mask,
                .msn = qp.responder.order.msn};
    }

    queue::Scheduler& scheduler_;
    completion::Failure& failure_;
    Report report_;
    std::vector<queue::QueuePair*> owing_; ///< queue pairs with ack_pending
};

} // namespace model::hca::responder

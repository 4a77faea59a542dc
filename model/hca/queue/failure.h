// The way into the error state (IBA 10.3.1.6; PRM "QP state, ERR"): completes every posted work request with "flushed",
// in order, and reports asynchronous events. Receives a queue pair and why; everything that fails goes through here.
#pragma once

#include "model/hca/data_path.h"
#include "model/hca/queue/queue_pair.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace model::hca::queue {

class Failure {
public:
    explicit Failure(DataPath& path) : path_(path) {}

    /// To the error state; both queues are flushed. Does nothing for a queue pair that is there already.
    void enter_error(QueuePair& qp, port::Time at);
    /// As above, with an asynchronous event: access violation, invalid request, or catastrophic error.
    void enter_error(QueuePair& qp, abi::prm::EventType why, port::Time at);
    /// To the send queue error state, where only sending ends (IBA 10.3.1.5): what an unreliable service does.
    void enter_send_error(QueuePair& qp, port::Time at);
    /// Error states: send WQEs that were posted since are flushed too.
    void flush_sends(QueuePair& qp, port::Time at);
    /// Error state: the same for receive WQEs. They come without a doorbell, so no device is told of them; all it can
    /// do is look at the record. It does so whenever software does something about the queue pair or arms its receive
    /// queue's completions, and by itself each time as much time has passed as since then: what is posted right away is
    /// found right away, nothing is missed, and a queue pair that is left alone costs less and less. The instants are
    /// multiples of the intervals, so that one of them serves every queue pair that has been in error for about as
    /// long.
    void flush_receives(QueuePair& qp, port::Time at);
    /// Software has done something about a queue pair in error, as before it posts there.
    void look_again(QueuePair& qp, port::Time at);
    /// Software arms a completion queue: of the queue pairs in error that complete there, the next few are looked at.
    void look_again(completion::CompletionQueue& cq, port::Time at);
    /// The queue pair leaves the error state, or goes.
    static void forget(QueuePair& qp);

    /// Writes a send completion, successful or not; `data` is an answer that it carries. False when the CQ could not
    /// take it.
    bool complete_send(QueuePair& qp, const Outstanding& message, completion::CqeSyndrome syndrome, std::uint8_t vendor,
                       port::Time at, std::span<const std::byte> data = {});
    /// Writes an error completion for a receive WQE.
    bool fail_receive(QueuePair& qp, std::uint16_t index, completion::CqeSyndrome syndrome, std::uint8_t vendor,
                      port::Time at);

private:
    void tell(const QueuePair& qp, abi::prm::EventType event, port::Time at);

    DataPath& path_;
};

/// The value of srqn_uidx in a requester's CQE (CQE version 1): the user index; for a queue pair without one the number
/// of its shared receive queue, or 0.
inline std::uint32_t send_user_index(const QueuePair& qp) {
    if (qp.attributes.user_index != 0xffffff)
        return qp.attributes.user_index;
    return qp.srq != nullptr ? qp.srq->number : 0;
}
/// The same in a responder's CQE. With a shared receive queue of an XRC domain it is that queue's user index.
inline std::uint32_t receive_user_index(const QueuePair& qp) {
    if (qp.srq != nullptr && qp.srq->attributes.is_xrc)
        return qp.srq->attributes.user_index != 0xffffff ? qp.srq->attributes.user_index : qp.srq->number;
    return send_user_index(qp);
}

/// Where receive completions go.
inline completion::CompletionQueue& receive_cq(const QueuePair& qp) {
    return qp.srq != nullptr && qp.srq->cq != nullptr ? *qp.srq->cq : *qp.receive_cq;
}

} // namespace model::hca::queue

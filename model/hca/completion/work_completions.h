// Completes work requests (IBA 10.8.6, 11.4.2): which completion queue is told, and what the entry says of the
// queue pair. Receives a queue pair and what became of its oldest message or receive WQE; gives a CQE, if the queue
// takes it.
#pragma once

#include "model/hca/completion/cqe_writer.h"
#include "model/hca/queue/queue_pair.h"
#include "model/port/payload.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace model::hca::completion {

/// Each function returns whether the completion queue took the entry.
class WorkCompletions {
public:
    WorkCompletions(CqeWriter& writer, port::LoanBook& loans) : writer_(writer), loans_(loans) {}

    /// Completes a send work request, successful or not. `data` is the answer that the entry carries, if it does.
    bool send(queue::QueuePair& qp, const queue::Outstanding& message, CqeSyndrome syndrome, std::uint8_t vendor,
              port::Time at, std::span<const std::byte> data = {});
    /// Completes a receive WQE whose message has arrived. Queue pair and user index are filled in here.
    bool receive(const queue::QueuePair& qp, Completion completion, port::Time at);
    /// Completes a receive WQE with an error.
    bool fail_receive(queue::QueuePair& qp, std::uint16_t index, CqeSyndrome syndrome, std::uint8_t vendor,
                      port::Time at);

private:
    bool write(const queue::QueuePair& qp, CompletionQueue& cq, const Completion& completion, port::Time at);

    CqeWriter& writer_;
    port::LoanBook& loans_;
};

/// Where receive completions go.
inline CompletionQueue& receive_cq(const queue::QueuePair& qp) {
    return qp.srq != nullptr && qp.srq->cq != nullptr ? *qp.srq->cq : *qp.receive_cq;
}

} // namespace model::hca::completion

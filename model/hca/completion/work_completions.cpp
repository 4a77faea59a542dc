#include "model/hca/completion/work_completions.h"

#include "abi/prm/qp.h"

#include <algorithm>

namespace model::hca::completion {

using queue::QueuePair;

namespace {

/// The value of srqn_uidx in a requester's CQE (CQE version 1): the user index; for a queue pair without one the number
/// of its shared receive queue, or 0.
std::uint32_t send_user_index(const QueuePair& qp) {
    if (qp.attributes.user_index != abi::prm::no_user_index)
        return qp.attributes.user_index;
    return qp.srq != nullptr ? qp.srq->number : 0;
}

/// The same in a responder's CQE. With a shared receive queue of an XRC domain it is that queue's user index.
std::uint32_t receive_user_index(const QueuePair& qp) {
    if (qp.srq != nullptr && qp.srq->attributes.is_xrc)
        return qp.srq->attributes.user_index != abi::prm::no_user_index ? qp.srq->attributes.user_index
                                                                        : qp.srq->number;
    return send_user_index(qp);
}

} // namespace

/// Writes the entry. When the completion queue is full, the queue pair's counter set counts it.
bool WorkCompletions::write(const QueuePair& qp, CompletionQueue& cq, const Completion& completion, port::Time at) {
    const bool is_written = writer_.write(cq, completion, at);
    if (!is_written && cq.state == queue::CompletionState::overrun) [[unlikely]]
        ++qp.counters->cq_overflow;
    return is_written;
}

bool WorkCompletions::send(QueuePair& qp, const queue::Outstanding& message, CqeSyndrome syndrome, std::uint8_t vendor,
                           port::Time at, std::span<const std::byte> data) {
    const bool is_error = syndrome != CqeSyndrome{};
    at = qp.requester.response.placed_until = std::max(qp.requester.response.placed_until, at);
    if (is_error) {
        auto& count = *qp.counters;
        ++(syndrome == CqeSyndrome::wr_flush_err ? count.req_cqe_flush_error : count.req_cqe_error);
        // Packets of it may still be under way, since nobody has acknowledged them, but its memory is software's again.
        loans_.requests.drain();
    }
    return write(qp, *qp.send_cq,
                 {.opcode = is_error ? CqeOpcode::req_err : CqeOpcode::req,
                  .syndrome = syndrome,
                  .vendor_syndrome = vendor,
                  .qpn = qp.number,
                  .user_index = send_user_index(qp),
                  .send_opcode = static_cast<std::uint8_t>(message.opcode),
                  .wqe_counter = message.wqe_index,
                  // PRM "CQE": a requester's byte count is filled for READs and atomics only.
                  .byte_count = message.awaits_data ? message.length : 0,
                  .solicited = message.signalled_with_event,
                  .cause = message.cause,
                  .data = data},
                 at);
}

bool WorkCompletions::receive(const QueuePair& qp, Completion completion, port::Time at) {
    completion.qpn = qp.number;
    completion.user_index = receive_user_index(qp);
    return write(qp, receive_cq(qp), completion, at);
}

bool WorkCompletions::fail_receive(QueuePair& qp, std::uint16_t index, CqeSyndrome syndrome, std::uint8_t vendor,
                                   port::Time at) {
    auto& count = *qp.counters;
    // Of a message that fails, a part may still go out. Its memory is software's from this entry on.
    at = qp.responder.order.execute(std::max(at, qp.responder.order.writes.issued));
    ++(syndrome == CqeSyndrome::wr_flush_err ? count.resp_cqe_flush_error : count.resp_cqe_error);
    return write(qp, receive_cq(qp),
                 {.opcode = CqeOpcode::resp_err,
                  .syndrome = syndrome,
                  .vendor_syndrome = vendor,
                  .qpn = qp.number,
                  .user_index = receive_user_index(qp),
                  .wqe_counter = index},
                 at);
}

} // namespace model::hca::completion

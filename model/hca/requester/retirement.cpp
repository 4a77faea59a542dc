#include "model/hca/requester/retirement.h"

#include "model/hca/requester/position.h"

#include <utility>

namespace model::hca::requester {

using abi::prm::CqeSyndrome;
using completion::LocalError;
using queue::QueuePair;

void Retirement::retire(QueuePair& qp, port::Time at, std::span<const std::byte> answer) {
    auto& messages = qp.requester.sends.messages;
    while (!messages.is_empty()) {
        const auto& front = messages.front();
        const bool is_error = front.error != 0;
        if (is_error)
            return fail_front(qp, {static_cast<CqeSyndrome>(front.error), front.vendor_error}, at);
        // A NOP or UMR has no packets, so it is done when it is the oldest.
        const bool is_done =
            front.packets == 0 || (front.awaits_data ? front.answered == front.packets
                                                     : !qp.requester.window.oldest_psn.is_before(front.next()));
        if (!is_done)
            return;
        complete_front(qp, at, std::exchange(answer, {}));
        if (!qp.can_send())
            return;
    }
}

void Retirement::complete_front(QueuePair& qp, port::Time at, std::span<const std::byte> answer) {
    auto& r = qp.requester;
    const auto message = r.sends.messages.front();
    if (r.position.message == r.sends.messages.begin()) {
        // It was acknowledged while it was being sent again: sending goes on with the next message, or where it was.
        r.position.message = r.retry.repeats ? r.retry.resume_message : r.position.message + 1;
        r.position.offset = r.retry.repeats ? r.retry.resume_offset : 0;
        r.position.has_wqe = r.position.has_wqe && r.position.loaded == r.position.message;
        if (std::exchange(r.retry.repeats, false) && r.position.has_wqe)
            seek(r.position);
    }
    r.sends.messages.pop();
    r.sends.completed = static_cast<std::uint16_t>(r.sends.completed + message.wqebbs);
    r.window.reads_outstanding -= message.awaits_data;
    // A fence, the limit of outstanding READs or the window may have held the next WQE back until now.
    if (r.sends.fetched != r.sends.producer)
        scheduler_.add(qp);
    ++counters_.messages_completed;
    if (message.signalled && !completions_.send(qp, message, CqeSyndrome{}, 0, at, answer))
        failure_.enter_error(qp, abi::prm::EventType::wq_catastrophic_error, at);
}

void Retirement::fail_front(QueuePair& qp, const LocalError& error, port::Time at) {
    auto& sends = qp.requester.sends;
    const auto message = sends.messages.front();
    sends.messages.pop();
    sends.completed = static_cast<std::uint16_t>(sends.completed + message.wqebbs);
    completions_.send(qp, message, error.syndrome, error.vendor, at);
    if (qp.service.is_reliable || qp.service.is_local)
        failure_.enter_error(qp, at);
    else
        failure_.enter_send_error(qp, at);
}

void Retirement::stop(QueuePair& qp, queue::Outstanding& message, const LocalError& error, port::Time at) {
    message.error = static_cast<std::uint8_t>(error.syndrome);
    message.vendor_error = error.vendor;
    count(qp, error);
    retire(qp, at);
}

void Retirement::count(const QueuePair& qp, const LocalError& error) {
    auto& counters = *qp.counters;
    if (error.syndrome == CqeSyndrome::local_prot_err)
        ++counters.req_local_protection;
    else if (error.syndrome == CqeSyndrome::local_length_err)
        ++counters.req_local_length_error;
    else
        ++counters.local_operation_error;
}

} // namespace model::hca::requester

#include "model/hca/requester/acknowledgements.h"

#include "abi/wire/infiniband.h"

#include <optional>
#include <utility>

namespace model::hca::requester {

using abi::Psn;
using abi::prm::CqeSyndrome;
using queue::QueuePair;
namespace vendor = completion::vendor;

void Acknowledgements::acknowledge(QueuePair& qp, Psn psn, port::Time at) {
    auto& messages = qp.requester.sends.messages;
    auto& oldest_psn = qp.requester.window.oldest_psn;
    for (auto n = messages.begin(); n != messages.end(); ++n) {
        const auto& message = messages[n];
        if (message.packets == 0)
            continue;
        if (psn.is_before(message.first))
            break;
        if (message.awaits_data) {
            // The responder is past a READ or atomic whose answer did not come: an implied NAK (IBA 9.7.5.1.3).
            if (is_selective_)
                qp.requester.response.acknowledged = psn;
            oldest_psn = message.first + message.answered;
            retirement_.retire(qp, at);
            if (qp.can_send())
                retry_.ask_again(qp, message.next(), at);
            return;
        }
        oldest_psn = psn.is_before(message.last()) ? psn + 1 : message.next();
    }
    retry_.progress(qp, at);
    retirement_.retire(qp, at);
    Retry::pass_answered(qp);
}

void Acknowledgements::refused(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& r = qp.requester;
    const auto syndrome = packet.rdma().aeth.syndrome;
    const auto psn = packet.rdma().psn;
    // A NAK also acknowledges whatever precedes the refused packet.
    if (psn.is_after(r.window.oldest_psn)) {
        acknowledge(qp, psn + Psn::mask, at);
        if (!qp.can_send() || r.window.oldest_psn.is_before(psn)) {
            // The queue pair has failed, or an answer before this NAK is missing and was asked for again.
            if (is_selective_ && syndrome == abi::wire::nak_syndrome(abi::wire::NakCode::psn_sequence_error))
                r.response.refused_at = psn;
            return;
        }
    }
    // During an RNR pause nothing new is under way, so this is the same NAK again, or one for a packet behind it.
    if (r.retry.waits_rnr)
        return;
    if (abi::wire::kind_of(syndrome) == abi::wire::SyndromeKind::rnr_nak)
        return retry_.wait_for_receiver(qp, psn, abi::wire::value_of(syndrome), at);
    if (abi::wire::kind_of(syndrome) != abi::wire::SyndromeKind::nak)
        return;
    const auto code = static_cast<abi::wire::NakCode>(abi::wire::value_of(syndrome));
    auto& count = *qp.counters;
    const auto vendor_code = static_cast<std::uint8_t>(vendor::nak + abi::wire::value_of(syndrome));
    const auto fail = [&](CqeSyndrome why) { retirement_.fail_front(qp, {why, vendor_code}, at); };
    switch (code) {
    case abi::wire::NakCode::psn_sequence_error: ++count.packet_seq_err; return retry_.retry(qp, psn, "sequence", at);
    case abi::wire::NakCode::invalid_request:
        ++count.req_remote_invalid_request;
        return fail(CqeSyndrome::remote_inval_req_err);
    case abi::wire::NakCode::remote_access_error:
        ++count.req_remote_access_errors;
        return fail(CqeSyndrome::remote_access_err);
    case abi::wire::NakCode::remote_operational_error:
        ++count.req_remote_operation_errors;
        return fail(CqeSyndrome::remote_op_err);
    default: ++count.req_bad_response; return fail(CqeSyndrome::bad_resp_err);
    }
}

void Acknowledgements::look_again(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    auto& acknowledged = r.response.acknowledged;
    auto& refused_at = r.response.refused_at;
    const auto& messages = r.sends.messages;
    if (!qp.can_send() || messages.is_empty() || messages.front().awaits_data)
        return;
    if (const auto psn = std::exchange(acknowledged, std::nullopt); psn && !psn->is_before(r.window.oldest_psn))
        acknowledge(qp, *psn, at);
    if (!qp.can_send() || !refused_at || messages.is_empty() || messages.front().awaits_data)
        return;
    if (const auto psn = std::exchange(refused_at, std::nullopt); !psn->is_before(r.window.oldest_psn))
        retry_.retry(qp, *psn, "sequence", at);
}

bool Acknowledgements::answers_front(QueuePair& qp, Psn psn, port::Time at) {
    auto& messages = qp.requester.sends.messages;
    auto& oldest_psn = qp.requester.window.oldest_psn;
    if (const auto before = psn + Psn::mask; !before.is_before(oldest_psn)) {
        // An answer acknowledges everything sent before its request (IBA 9.7.5.1.2).
        for (auto n = messages.begin(); n != messages.end() && !messages[n].awaits_data; ++n)
            if (messages[n].packets != 0 && !before.is_before(messages[n].last()))
                oldest_psn = messages[n].next();
        retirement_.retire(qp, at);
    }
    if (!qp.can_send() || messages.is_empty())
        return false;
    const auto& front = messages.front();
    if (!front.awaits_data)
        return false;
    const auto expected = front.first + front.answered;
    if (psn == expected)
        return true;
    if (psn.is_after(expected))
        retry_.ask_again(qp, psn, at);
    return false;
}

} // namespace model::hca::requester

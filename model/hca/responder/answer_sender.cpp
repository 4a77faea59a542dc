#include "model/hca/responder/answer_sender.h"

#include "model/hca/queue/packets.h"
#include "model/hca/responder/remote_access.h"
#include "model/wire/builder.h"

#include <algorithm>

namespace model::hca::responder {

using abi::wire::NakCode;
using abi::wire::Operation;
using queue::QueuePair;
using queue::Response;

void AnswerSender::release(port::Time at) {
    answers_.release([&](QueuePair& qp, const Response& ack) {
        const auto& own = qp.responder.answers;
        const auto cause = outbox_.because(ack.cause);
        if (own.responses.is_empty() && outlets_.of(qp).can_send(at))
            send_simple(qp, ack, std::max(ack.earliest, at));
        else
            answers_.respond(qp, ack, at);
    });
}

bool AnswerSender::send(QueuePair& qp, std::int64_t& bytes, port::Time at) {
    auto& responses = qp.responder.answers.responses;
    while (bytes > 0 && !responses.is_empty()) {
        if (!outlets_.of(qp).can_send(at))
            return true;
        auto& response = responses.front();
        if (response.kind == Response::Kind::read && qp.requester.congestion.control && has_to_wait(qp, at))
            [[unlikely]]
            return false;
        const auto start = std::max({at, response.earliest, qp.context_at});
        const auto cause = outbox_.because(response.cause);
        auto sent = Sent::all;
        bytes -= queue::turn_cost(
            response.kind == Response::Kind::read ? std::min(response.remaining, qp.attributes.mtu_bytes()) : 0);
        if (response.kind == Response::Kind::read)
            sent = send_read(qp, response, start);
        else
            send_simple(qp, response, start);
        if (sent == Sent::all)
            responses.pop();
        else if (sent == Sent::nothing)
            return false;
    }
    return !responses.is_empty();
}

/// Whether the next packet of a READ response is not due yet. It is of the same flow as the requests of its queue pair,
/// whose rate its CNPs have made lower. A window is of what this side asks for, and says nothing of it.
bool AnswerSender::has_to_wait(QueuePair& qp, port::Time at) {
    auto& own = qp.requester.congestion;
    if (own.round_trips)
        return false;
    if (own.is_early(at)) {
        qp.requester.rests_until = own.control->asks_again();
        own.hold(at);
        return true;
    }
    if (const auto span = own.end_hold(at))
        counters_.waited_for_rate(*span);
    return false;
}

/// Sends an answer that is one packet without payload.
void AnswerSender::send_simple(QueuePair& qp, const Response& response, port::Time at) {
    auto& wire = outlets_.of(qp);
    auto& packet = outbox_.begin(qp, wire, response.psn);
    auto& head = packet.rdma();
    head.aeth = {.syndrome = response.syndrome, .msn = response.msn};
    head.atomic_original = response.original;
    head.operation = response.kind == Response::Kind::atomic ? Operation::atomic_acknowledge : Operation::acknowledge;
    counters_.acks_sent += response.kind != Response::Kind::negative;
    outbox_.send_through_pipe(wire, packet, at);
}

/// Sends the next packet of a READ response. When its memory has gone meanwhile, a NAK ends the response; when only a
/// page is missing, the response waits for it.
AnswerSender::Sent AnswerSender::send_read(QueuePair& qp, Response& response, port::Time at) {
    auto& wire = outlets_.of(qp);
    auto& packet = outbox_.begin(qp, wire, response.psn);
    const auto length = std::min(response.remaining, qp.attributes.mtu_bytes());
    const bool is_last = length == response.remaining;
    const auto begun = at;
    at = outbox_.enter_pipe(at);
    auto access = remote_access(qp, response.rkey, response.address, length, tpt::Access::remote_read, response.pd);
    access.may_wait = qp.can_receive();
    const auto lent = memory_.lend(access, packet.payload, memory_.loans().answers, at);
    if (!lent) [[unlikely]] {
        const auto& denied = lent.error();
        if (denied.is_page_fault() && wait_for_page(qp, response, length, denied.request, at))
            return Sent::nothing;
        fail_read(qp, denied.is_by_key() ? NakCode::remote_access_error : NakCode::remote_operational_error, at);
        return Sent::part;
    }
    auto& head = packet.rdma();
    head.aeth = {.syndrome = response.syndrome, .msn = response.msn};
    head.operation = response.is_first ? (is_last ? Operation::read_response_only : Operation::read_response_first)
                                       : (is_last ? Operation::read_response_last : Operation::read_response_middle);
    if (const auto& own = qp.requester.congestion; own.control && !own.round_trips) [[unlikely]]
        own.control->sent({.bytes = wire::frame_length(packet), .at = begun});
    outbox_.send(wire, packet, *lent);
    response.is_first = false;
    response.psn += 1;
    response.address += length;
    response.remaining -= length;
    return is_last ? Sent::all : Sent::part;
}

/// The next packet of a READ response does not find a page. Returns false when the response cannot wait for it.
bool AnswerSender::wait_for_page(QueuePair& qp, Response& response, std::uint32_t packet, const tpt::Request& access,
                                 port::Time at) {
    response.waits_for_page = page_faults_.raise(qp,
                                                 paging::RemotePageFault{.type = abi::prm::PageFaultType::remote_read,
                                                                         .key = response.rkey,
                                                                         .address = response.address,
                                                                         .length = response.remaining,
                                                                         .packet = packet,
                                                                         .psn = response.psn},
                                                 access, at);
    return response.waits_for_page;
}

bool AnswerSender::resume_read(QueuePair& qp, std::uint32_t psn, bool is_error, port::Time at) {
    auto& responses = qp.responder.answers.responses;
    if (responses.is_empty() || !responses.front().waits_for_page || responses.front().psn.value != psn)
        return false;
    responses.front().waits_for_page = false;
    if (is_error)
        fail_read(qp, NakCode::remote_access_error, at);
    return true;
}

/// The READ at the front cannot go on. A NAK takes the place of its next packet and of all answers behind it.
void AnswerSender::fail_read(QueuePair& qp, NakCode code, port::Time at) {
    auto& responses = qp.responder.answers.responses;
    const auto psn = responses.front().psn;
    const auto done_before = (responses.front().msn - 1) & abi::Psn::mask;
    responses.clear();
    answers_.refuse(qp, abi::wire::nak_syndrome(code), psn, done_before, at);
    answers_.fail(qp, code, at);
}

} // namespace model::hca::responder

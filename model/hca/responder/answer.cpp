// Answers on their way out: coalesced ACKs, NAKs, READ responses, atomic results, in the order of their requests.
#include "model/hca/responder/responder.h"

#include <algorithm>

namespace model::hca::responder {

using abi::wire::NakCode;
using abi::wire::Operation;
using queue::QueuePair;
using queue::Response;

/// An ACK for everything so far. It waits for the end of the batch, so that one ACK answers many requests.
void Responder::owe_ack(QueuePair& qp, port::Time at) {
    auto& r = qp.responder;
    at = r.execute(at);
    if (r.responses.is_empty()) {
        r.ack_pending = true;
        r.ack_earliest = at;
        if (!r.in_ack_list) {
            r.in_ack_list = true;
            owing_.push_back(&qp);
        }
        return;
    }
    auto& last = r.responses.back();
    if (last.kind == Response::Kind::acknowledge) {
        last.psn = r.expected + abi::Psn::mask;
        last.msn = r.msn;
        last.earliest = at;
        return;
    }
    respond(qp,
            {.kind = Response::Kind::acknowledge,
             .syndrome = abi::wire::ack_syndrome(),
             .psn = r.expected + abi::Psn::mask,
             .msn = r.msn},
            at);
}

/// Queues an answer. It implies an ACK for what came before, so a held-back one is dropped.
void Responder::respond(QueuePair& qp, Response response, port::Time at) {
    qp.responder.ack_pending = false;
    response.earliest = qp.responder.execute(at);
    qp.responder.responses.push(response);
    path_.scheduler.add(qp);
}

/// A NAK or RNR NAK for the packet that was expected.
void Responder::refuse(QueuePair& qp, std::uint8_t syndrome, port::Time at) {
    refuse(qp, syndrome, qp.responder.expected, qp.responder.msn, at);
}

void Responder::refuse(QueuePair& qp, std::uint8_t syndrome, abi::Psn psn, std::uint32_t msn, port::Time at) {
    if (!qp.service.is_reliable)
        return; // dropped in silence
    ++path_.counters.naks_sent;
    path_.events.emit(at, traces::Naked{qp.number.value, psn.value, syndrome});
    respond(qp, {.kind = Response::Kind::negative, .syndrome = syndrome, .psn = psn, .msn = msn}, at);
}

/// A NAK after which the queue pair is in error (IBA 9.9.3, responder classes C and beyond).
void Responder::refuse_and_fail(QueuePair& qp, NakCode code, port::Time at) {
    if (!qp.service.is_reliable)
        return; // what the peer does wrong is dropped, and costs no connection (IBA 9.8.2.2)
    refuse(qp, abi::wire::nak_syndrome(code), at);
    fail(qp, code, at);
}

/// The error state behind a NAK, with the event that says why.
void Responder::fail(QueuePair& qp, NakCode code, port::Time at) {
    auto& count = path_.count(qp);
    if (code == NakCode::remote_access_error) {
        ++count.resp_remote_access_errors;
        failure_.enter_error(qp, abi::prm::EventType::wq_access_error, at);
    } else if (code == NakCode::invalid_request) {
        ++count.resp_remote_invalid_request;
        failure_.enter_error(qp, abi::prm::EventType::wq_invalid_request, at);
    } else {
        ++count.resp_local_qp_error;
        failure_.enter_error(qp, abi::prm::EventType::wq_catastrophic_error, at);
    }
}

/// The READ at the front cannot go on: a NAK takes the place of its next packet, and of all answers behind it.
void Responder::fail_read(QueuePair& qp, NakCode code, port::Time at) {
    auto& responses = qp.responder.responses;
    const auto psn = responses.front().psn;
    const auto done_before = (responses.front().msn - 1) & abi::Psn::mask;
    responses.clear();
    refuse(qp, abi::wire::nak_syndrome(code), psn, done_before, at);
    fail(qp, code, at);
}

/// As many READs and atomics wait for their answer as the peer may have outstanding. What was asked for again may be a
/// late copy of something long answered, so new requests are not counted against it; but it has the same limit itself.
bool Responder::is_read_limit_reached(const QueuePair& qp, bool counts_repeats) const {
    const auto& responses = qp.responder.responses;
    std::uint32_t pending = 0;
    for (auto n = responses.begin(); n != responses.end(); ++n) {
        const auto kind = responses[n].kind;
        pending += (kind == Response::Kind::read || kind == Response::Kind::atomic) &&
                   (counts_repeats || !responses[n].is_repeat);
    }
    return pending >= 1u << qp.attributes.log_reads_responder;
}

void Responder::received_all(port::Time at) {
    for (auto* qp : owing_) {
        auto& r = qp->responder;
        r.in_ack_list = false;
        if (!r.ack_pending)
            continue;
        r.ack_pending = false;
        const Response ack{.kind = Response::Kind::acknowledge,
                           .syndrome = abi::wire::ack_syndrome(),
                           .psn = r.expected + abi::Psn::mask,
                           .msn = r.msn};
        if (r.responses.is_empty() && qp->wire->can_send(at))
            send_simple(*qp, ack, std::max(r.ack_earliest, at));
        else
            respond(*qp, ack, at);
    }
    owing_.clear();
}

bool Responder::answer(QueuePair& qp, std::uint32_t packets, port::Time at) {
    auto& responses = qp.responder.responses;
    for (; packets != 0 && !responses.is_empty(); --packets) {
        if (!qp.wire->can_send(at))
            return true;
        auto& response = responses.front();
        const auto start = std::max(at, response.earliest);
        auto sent = Sent::all;
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

/// An answer of one packet without payload.
void Responder::send_simple(QueuePair& qp, const Response& response, port::Time at) {
    auto& packet = qp.wire->next();
    packet.path = qp.path;
    packet.rdma().pkey = path_.identity.pkey(qp.attributes.path.pkey_index);
    packet.rdma().destination = qp.attributes.remote_qpn;
    packet.rdma().service = qp.service.on_wire;
    packet.rdma().psn = response.psn;
    packet.rdma().aeth = {.syndrome = response.syndrome, .msn = response.msn};
    packet.rdma().atomic_original = response.original;
    packet.rdma().operation =
        response.kind == Response::Kind::atomic ? Operation::atomic_acknowledge : Operation::acknowledge;
    ++path_.counters.packets_sent;
    path_.counters.acks_sent += response.kind != Response::Kind::negative;
    if (path_.events.is_on()) [[unlikely]]
        path_.events.emit(at, traces::PacketSent{packet.rdma().destination.value, packet.rdma().psn.value,
                                                 packet.rdma().opcode(), 0});
    qp.wire->send(path_.enter_pipe(at));
}

/// The next packet of a READ response. Memory that has gone meanwhile ends it with a NAK; for a page that may come back
/// the response waits.
Responder::Sent Responder::send_read(QueuePair& qp, Response& response, port::Time at) {
    auto& packet = qp.wire->next();
    const auto length = std::min(response.remaining, qp.attributes.mtu_bytes());
    const bool is_last = length == response.remaining;
    at = path_.enter_pipe(at);
    auto access = remote_access(qp, response.rkey, response.address, length, tpt::Access::remote_read, response.pd);
    access.may_wait = qp.can_receive();
    const auto lent = path_.memory.lend(access, packet.payload, path_.loans.answers, at);
    if (!lent) [[unlikely]] {
        const auto& denied = lent.error();
        if (denied.is_page_fault() && wait_to_respond(qp, response, length, denied.request, at))
            return Sent::nothing;
        fail_read(qp, denied.is_by_key() ? NakCode::remote_access_error : NakCode::remote_operational_error, at);
        return Sent::part;
    }
    const auto ready = *lent;
    packet.path = qp.path;
    packet.rdma().pkey = path_.identity.pkey(qp.attributes.path.pkey_index);
    packet.rdma().destination = qp.attributes.remote_qpn;
    packet.rdma().service = qp.service.on_wire;
    packet.rdma().psn = response.psn;
    packet.rdma().aeth = {.syndrome = response.syndrome, .msn = response.msn};
    packet.rdma().operation = response.is_first
                                  ? (is_last ? Operation::read_response_only : Operation::read_response_first)
                                  : (is_last ? Operation::read_response_last : Operation::read_response_middle);
    ++path_.counters.packets_sent;
    path_.counters.payload_sent += length;
    if (path_.events.is_on()) [[unlikely]]
        path_.events.emit(ready, traces::PacketSent{packet.rdma().destination.value, packet.rdma().psn.value,
                                                    packet.rdma().opcode(), length});
    qp.wire->send(ready);
    response.is_first = false;
    response.psn += 1;
    response.address += length;
    response.remaining -= length;
    return is_last ? Sent::all : Sent::part;
}

} // namespace model::hca::responder

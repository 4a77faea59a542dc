#include "model/hca/responder/execution.h"

#include "model/hca/responder/duplicates.h"

namespace model::hca::responder {

using abi::wire::NakCode;
using queue::QueuePair;
using Kind = abi::wire::OperationTraits::Kind;
using Message = queue::OrderState::Message;

/// Whether the packet fits behind those before it: a message consists of first, middle and last packets of one kind, of
/// which all but the last are full (IBA 9.7.4.1.2 and .3).
bool Execution::is_in_order(const QueuePair& qp, const port::Packet& packet) const {
    const auto& traits = packet.traits();
    const auto message = qp.responder.order.message;
    if ((message == Message::none) != traits.is_first)
        return false;
    if (message == Message::send && traits.kind != Kind::send)
        return false;
    if (message == Message::write && traits.kind != Kind::write)
        return false;
    const auto length = packet.payload.size();
    const auto mtu = qp.attributes.mtu_bytes();
    if (!traits.has_payload)
        return length == 0;
    if (!traits.is_last)
        return length == mtu;
    return length <= mtu && (traits.is_first || length != 0);
}

/// In the XRC service a request names the shared receive queue whose protection domain, WQEs and completion queue count
/// for it (IBA annex A14). Returns false when the queue pair's XRC domain has no such queue.
bool Execution::select_shared_queue(QueuePair& qp, const port::Packet& packet) {
    if (qp.service.on_wire != abi::wire::Service::xrc) [[likely]]
        return true;
    auto* srq = shared_receive_queues_.find(packet.rdma().xrc_srq);
    if (srq == nullptr || !srq->attributes.is_xrc || srq->attributes.xrcd != qp.attributes.xrcd)
        return false;
    if (!packet.traits().is_first || qp.responder.receives.has_wqe)
        return srq == qp.srq; // all packets of a message name the same one, also when the first one comes again
    take_from(qp, srq);
    qp.responder.remote.pd = srq->attributes.pd;
    return true;
}

void Execution::execute(QueuePair& qp, port::Packet& packet, port::Time at) {
    const auto& traits = packet.traits();
    if (!is_in_order(qp, packet) || !select_shared_queue(qp, packet))
        return answers_.refuse_and_fail(qp, NakCode::invalid_request, at);
    CarriedOut done;
    switch (traits.kind) {
    case Kind::send:
        done = receives_.place(qp, packet, at);
        if (done && traits.has_invalidate &&
            !umr_.invalidate(qp, packet.rdma().invalidate, qp.responder.remote.pd, done.at))
            return answers_.refuse_and_fail(qp, NakCode::remote_access_error, done.at);
        break;
    case Kind::write: done = memory_.write(qp, packet, at); break;
    case Kind::read_request:
        if (auto answered = memory_.read(qp, packet, at))
            finish_request(qp, packet, *answered, at);
        return;
    case Kind::atomic:
        if (auto answered = memory_.atomic(qp, packet, at))
            finish_request(qp, packet, *answered, at);
        return;
    default: return; // no request; ingress gives responses to the requester
    }
    if (!done)
        return;
    say_accepted(qp, packet, at);
    finish_packet(qp, packet, done.at);
}

void Execution::execute_unreliable(QueuePair& qp, port::Packet& packet, port::Time at) {
    auto& order = qp.responder.order;
    const auto& traits = packet.traits();
    if (!is_defined(packet.rdma().service, packet.rdma().operation))
        return;
    // After a gap, or when a message begins before the last one ended, the message that was under way is dropped. Its
    // receive WQE is used for the next one (IBA 9.8.2.2.1).
    if (packet.rdma().psn != order.expected || traits.is_first)
        order.message = Message::none;
    order.expected = packet.rdma().psn;
    CarriedOut done;
    if (is_in_order(qp, packet))
        done = traits.kind == Kind::send ? receives_.place(qp, packet, at) : memory_.write(qp, packet, at);
    if (done) {
        say_accepted(qp, packet, done.at);
        return finish_packet(qp, packet, done.at);
    }
    order.message = Message::none;
    order.expected += 1;
}

bool Execution::execute_train(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& order = qp.responder.order;
    const auto& traits = packet.traits();
    const bool is_in_order = (order.message == Message::none) == traits.is_first && order.message != Message::send &&
                             traits.kind == Kind::write && packet.train.unit == qp.attributes.mtu_bytes();
    if (!is_in_order || !memory_.write_train(qp, packet))
        return false;
    order.nak_is_out = false;
    move_on(qp, packet, packet.train.ends_message, at);
    return true;
}

/// A SEND or WRITE packet was carried out: moves on to the next sequence number, and owes the ACK that it asks for.
void Execution::move_on(QueuePair& qp, const port::Packet& packet, bool ends_message, port::Time at) {
    auto& order = qp.responder.order;
    at = order.execute(at);
    report_.counters.payload_received += packet.payload.size();
    order.expected += packet.train.packets;
    if (ends_message) {
        order.msn = (order.msn + 1) & abi::Psn::mask;
        order.message = Message::none;
    }
    if (packet.rdma().ack_request && qp.service.is_reliable)
        answers_.owe_ack(qp, at);
    qp.paging.refused = 0;
}

void Execution::finish_packet(QueuePair& qp, const port::Packet& packet, port::Time at) {
    const auto& traits = packet.traits();
    at = qp.responder.order.execute(at); // no completion is earlier than those before it
    move_on(qp, packet, traits.is_last, at);
    // A WRITE without immediate does not complete the receive WQE that a SEND has taken and not yet filled.
    if (traits.is_last && qp.responder.receives.has_wqe && (traits.kind == Kind::send || traits.has_immediate))
        receives_.complete(qp, packet, at);
}

/// A READ or an atomic was accepted: moves on to the sequence number behind its answer, and queues the answer.
void Execution::finish_request(QueuePair& qp, const port::Packet& packet, Answered& answered, port::Time at) {
    auto& order = qp.responder.order;
    Duplicates::remember(qp, answered.replay);
    order.expected += answered.replay.packets;
    order.msn = (order.msn + 1) & abi::Psn::mask;
    say_accepted(qp, packet, at);
    answered.response.msn = order.msn;
    answers_.respond(qp, answered.response, answered.at);
}

void Execution::say_accepted(const QueuePair& qp, const port::Packet& packet, port::Time at) const {
    if (report_.events.is_on()) [[unlikely]]
        report_.events.emit(at, traces::Accepted{qp.number.value, packet.rdma().psn.value, packet.rdma().opcode()});
}

} // namespace model::hca::responder

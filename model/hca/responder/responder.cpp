#include "model/hca/responder/responder.h"

#include <algorithm>
#include <array>

namespace model::hca::responder {

using abi::wire::NakCode;
using queue::QueuePair;
using Kind = abi::wire::OperationTraits::Kind;
using Message = queue::ResponderState::Message;

void Responder::start(QueuePair& qp) {
    qp.responder.expected = qp.attributes.next_receive_psn;
    qp.responder.msn = 0;
    qp.responder.remote_pd = qp.attributes.pd;
}

void Responder::forget(QueuePair& qp) {
    if (qp.responder.in_ack_list)
        std::erase(owing_, &qp);
    qp.responder.in_ack_list = false;
}

void Responder::receive(QueuePair& qp, port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    if (!qp.can_receive())
        return;
    at += path_.cost(path_.config.responder_latency);
    if (!r.saw_packet) {
        r.saw_packet = true;
        // PRM "Communication established": traffic came before software knew the connection is up.
        if (qp.state == queue::QpState::rtr)
            path_.event_queues.tell(abi::prm::EventType::communication_established, qp.number.value, at);
    }
    if (!qp.service.is_reliable) [[unlikely]]
        return receive_unreliable(qp, packet, at);
    const auto ahead = packet.rdma().psn - r.expected;
    if (ahead == 0) [[likely]] {
        r.nak_is_out = false;
        return execute(qp, packet, at);
    }
    if (ahead < 0)
        return duplicate(qp, packet, at);
    ++path_.count(qp).out_of_sequence;
    if (!r.nak_is_out) {
        // One NAK for a gap; the rest of what is under way stays unanswered (IBA 9.7.5.2.8).
        r.nak_is_out = true;
        refuse(qp, abi::wire::nak_syndrome(NakCode::psn_sequence_error), at);
    }
}

/// First, middle and last packets of one message, of one kind, full up to the last one (IBA 9.7.4.1.2 and .3).
bool Responder::is_in_order(const QueuePair& qp, const port::Packet& packet) const {
    const auto& traits = packet.traits();
    const auto message = qp.responder.message;
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

/// XRC: a request names the shared receive queue whose protection domain, WQEs and completion queue count for it (IBA
/// annex A14). False when there is none of this number in the queue pair's XRC domain.
bool Responder::select_shared_queue(QueuePair& qp, const port::Packet& packet) {
    if (qp.service.on_wire != abi::wire::Service::xrc) [[likely]]
        return true;
    auto* srq = path_.shared_receive_queues.find(packet.rdma().xrc_srq);
    if (srq == nullptr || !srq->attributes.is_xrc || srq->attributes.xrcd != qp.attributes.xrcd)
        return false;
    if (!packet.traits().is_first || qp.responder.has_receive)
        return srq == qp.srq; // a message has one, also when its first packet comes again
    take_from(qp, srq);
    qp.responder.remote_pd = srq->attributes.pd;
    return true;
}

void Responder::execute(QueuePair& qp, port::Packet& packet, port::Time at) {
    const auto& traits = packet.traits();
    if (!is_in_order(qp, packet) || !select_shared_queue(qp, packet))
        return refuse_and_fail(qp, NakCode::invalid_request, at);
    std::optional<port::Time> done;
    switch (traits.kind) {
    case Kind::send:
        done = send(qp, packet, at);
        if (done && traits.has_invalidate &&
            !umr_.invalidate(qp, packet.rdma().invalidate, qp.responder.remote_pd, *done))
            return refuse_and_fail(qp, NakCode::remote_access_error, *done);
        break;
    case Kind::write: done = write(qp, packet, at); break;
    case Kind::read_request: read(qp, packet, at); return;
    case Kind::atomic: atomic(qp, packet, at); return;
    default: return; // not a request: the port sends those to the requester
    }
    if (!done)
        return;
    say_accepted(qp, packet, at);
    finish_packet(qp, packet, *done);
}

void Responder::say_accepted(const QueuePair& qp, const port::Packet& packet, port::Time at) const {
    if (path_.events.is_on()) [[unlikely]]
        path_.events.emit(at, traces::Accepted{qp.number.value, packet.rdma().psn.value, packet.rdma().opcode()});
}

/// A SEND or WRITE packet was carried out: on to the next sequence number, and the answer it asks for.
void Responder::finish_packet(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    const auto& traits = packet.traits();
    at = r.execute(at);
    path_.counters.payload_received += packet.payload.size();
    r.expected += 1;
    if (traits.is_last) {
        r.msn = (r.msn + 1) & abi::Psn::mask;
        r.message = Message::none;
    }
    if (packet.rdma().ack_request && qp.service.is_reliable)
        owe_ack(qp, at);
    qp.paging.refused = 0;
    // A WRITE leaves a receive alone that a SEND took and is still to fill.
    if (traits.is_last && r.has_receive && (traits.kind == Kind::send || traits.has_immediate))
        complete_receive(qp, packet, r.received, at);
}

void Responder::complete_receive(QueuePair& qp, const port::Packet& packet, std::uint32_t bytes, port::Time at) {
    auto& r = qp.responder;
    const auto& traits = packet.traits();
    r.has_receive = false;
    using completion::CqeOpcode;
    std::array<std::byte, abi::prm::cqe_inline_64> carried;
    std::span<const std::byte> data;
    if (is_received_in_cqe(qp, packet)) [[unlikely]] {
        packet.payload.copy_to(carried);
        data = std::span(carried).first(packet.payload.size());
    }
    const auto opcode = traits.kind == Kind::write ? CqeOpcode::resp_wr_imm
                        : traits.has_immediate     ? CqeOpcode::resp_send_imm
                        : traits.has_invalidate    ? CqeOpcode::resp_send_inv
                                                   : CqeOpcode::resp_send;
    const bool is_written = completions_.receive(qp,
                                                 {.opcode = opcode,
                                                  .wqe_counter = r.receive->index,
                                                  .byte_count = bytes,
                                                  .immediate = traits.has_immediate    ? packet.rdma().immediate
                                                               : traits.has_invalidate ? packet.rdma().invalidate.value
                                                                                       : 0,
                                                  .solicited = packet.rdma().solicited,
                                                  .data = data},
                                                 at);
    if (!is_written)
        failure_.enter_error(qp, abi::prm::EventType::wq_catastrophic_error, at);
}

} // namespace model::hca::responder

#include "model/hca/responder/receives.h"

#include <array>
#include <span>

namespace model::hca::responder {

using abi::wire::NakCode;
using completion::CqeOpcode;
using completion::CqeSyndrome;
using queue::QueuePair;
using queue::Take;
using Kind = abi::wire::OperationTraits::Kind;
using Message = queue::OrderState::Message;

namespace {

/// Whether this SEND's completion carries its bytes (PRM "QP context", cs_res), so that software puts them where the
/// WQE says: a message of one packet that the completion has room for.
bool is_received_in_cqe(const QueuePair& qp, const port::Packet& packet) {
    const auto bytes = packet.payload.size();
    const auto& traits = packet.traits();
    return bytes != 0 && bytes <= qp.attributes.receive_in_cqe && traits.kind == Kind::send && traits.is_first &&
           traits.is_last && bytes <= completion::receive_cq(qp).inline_bytes();
}

} // namespace

CarriedOut Receives::take(QueuePair& qp, port::Time at) {
    auto& own = qp.responder.receives;
    if (own.has_wqe) { // taken for a message that was dropped on its way (unreliable connected)
        own.wqe->rewind();
        return {true, at};
    }
    const auto taken = placement_.take(qp, at);
    at = taken.at;
    switch (taken.what) {
    case Take::done: own.has_wqe = true; return {true, at};
    case Take::empty:
        ++qp.counters->out_of_buffer;
        patience_.ask(qp, at);
        return {};
    case Take::unreadable: break;
    }
    if (qp.srq == nullptr) {
        fail(qp, {CqeSyndrome::local_qp_op_err, vendor::wqe, NakCode::remote_operational_error}, at);
        return {};
    }
    // No WQE of the shared queue was taken, so none can be completed (IBA 11.6.3.4, SRQ catastrophic error).
    answers_.refuse(qp, abi::wire::nak_syndrome(NakCode::remote_operational_error), at);
    failure_.enter_error(qp, abi::prm::EventType::wq_catastrophic_error, at);
    return {};
}

CarriedOut Receives::place(QueuePair& qp, port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    if (packet.traits().is_first) {
        const auto taken = take(qp, at);
        if (!taken)
            return {};
        at = taken.at;
        r.order.message = Message::send;
        r.order.received = 0;
    }
    placement_.drain_loans();
    if (is_received_in_cqe(qp, packet)) [[unlikely]] {
        if (const auto error = placement_.check_room(qp, packet.payload.size(), at)) {
            fail(qp, *error, at);
            return {};
        }
        r.order.received = packet.payload.size();
        return {true, at};
    }
    auto& wqe = *r.receives.wqe;
    const auto segment = wqe.segment;
    const auto offset = wqe.offset;
    const auto placed = placement_.place(qp, packet.payload.pieces(), at);
    if (!placed) [[unlikely]] {
        auto error = placed.error();
        if (const auto denied = error.denied; denied && denied->is_page_fault()) {
            wqe.segment = segment; // the peer repeats the whole packet
            wqe.offset = offset;
            if (packet.traits().is_first)
                r.order.message = Message::none;
            if (patience_.wait_to_place(qp, packet.payload.size(), denied->request, at))
                return {};
            error = placement_error(denied->without_wait());
        }
        fail(qp, error, at);
        return {};
    }
    r.order.received += packet.payload.size();
    return {true, placed.value()};
}

void Receives::complete(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& own = qp.responder.receives;
    const auto& traits = packet.traits();
    own.has_wqe = false;
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
    const auto& head = packet.rdma();
    const bool is_written = completions_.receive(qp,
                                                 {.opcode = opcode,
                                                  .wqe_counter = own.wqe->index,
                                                  .byte_count = qp.responder.order.received,
                                                  .immediate = traits.has_immediate    ? head.immediate
                                                               : traits.has_invalidate ? head.invalidate.value
                                                                                       : 0,
                                                  .solicited = head.solicited,
                                                  .data = data},
                                                 at);
    if (!is_written)
        failure_.enter_error(qp, abi::prm::EventType::wq_catastrophic_error, at);
}

/// The message cannot be placed: sends the NAK to the peer, fails the receive WQE, and puts the queue pair into error.
void Receives::fail(QueuePair& qp, const PlacementError& error, port::Time at) {
    auto& own = qp.responder.receives;
    auto& count = *qp.counters;
    if (error.syndrome == CqeSyndrome::local_length_err)
        ++count.resp_local_length_error;
    else if (error.syndrome == CqeSyndrome::local_prot_err)
        ++count.resp_local_protection;
    else
        ++count.resp_local_qp_error;
    answers_.refuse(qp, abi::wire::nak_syndrome(error.nak), at);
    own.has_wqe = false;
    completions_.fail_receive(qp, own.wqe->index, error.syndrome, error.vendor, at);
    failure_.enter_error(qp, at);
}

} // namespace model::hca::responder

// SEND: receive WQEs and where their bytes go (IBA 9.7.5.2.9; PRM "Receive WQE").
#include "model/hca/responder/responder.h"

namespace model::hca::responder {

using abi::wire::NakCode;
using completion::CqeSyndrome;
using queue::QueuePair;
using Message = queue::Responder::Message;
using Take = Placement::Take;

/// Makes the next receive WQE current. Refused with an RNR NAK when none is posted.
Responder::Outcome Responder::take_receive(QueuePair& qp, port::Time& at) {
    auto& r = qp.responder;
    if (r.has_receive) { // of a message that was dropped on the way (unreliable connected)
        r.receive.rewind();
        return Outcome::done;
    }
    switch (placement_.take(qp, at)) {
    case Take::done:
        r.has_receive = true;
        return Outcome::done;
    case Take::empty:
        ++path_.count(qp).out_of_buffer;
        r.nak_is_out = true; // what follows is dropped without an answer until this packet comes again (IBA 9.7.5.2.8)
        refuse(qp, abi::wire::rnr_syndrome(qp.attributes.min_rnr_nak), at);
        return Outcome::refused;
    case Take::unreadable: break;
    }
    if (qp.srq == nullptr) {
        fail_receive(qp, {CqeSyndrome::local_qp_op_err, vendor::wqe, NakCode::remote_operational_error}, at);
        return Outcome::refused;
    }
    // No WQE was taken, so none can be completed (IBA 11.6.3.4, SRQ catastrophic error).
    refuse(qp, abi::wire::nak_syndrome(NakCode::remote_operational_error), at);
    failure_.enter_error(qp, abi::prm::EventType::wq_catastrophic_error, at);
    return Outcome::refused;
}

Responder::Outcome Responder::send(QueuePair& qp, port::Packet& packet, port::Time& at) {
    auto& r = qp.responder;
    if (packet.traits().is_first) {
        if (take_receive(qp, at) == Outcome::refused)
            return Outcome::refused;
        r.message = Message::send;
        r.received = 0;
    }
    path_.loans.answers.drain();
    const auto segment = r.receive.segment;
    const auto offset = r.receive.offset;
    if (auto error = placement_.place(qp, packet.payload.pieces(), at)) [[unlikely]] {
        if (error->is_page_fault()) {
            r.receive.segment = segment; // the packet comes again as a whole
            r.receive.offset = offset;
            if (packet.traits().is_first)
                r.message = Message::none;
            if (wait_to_place(qp, packet.payload.size(), at))
                return Outcome::refused;
            error->vendor = static_cast<std::uint8_t>(vendor::translation + static_cast<unsigned>(tpt::Violation::page_not_present));
        }
        fail_receive(qp, *error, at);
        return Outcome::refused;
    }
    r.received += packet.payload.size();
    return Outcome::done;
}

/// The message cannot be placed: the peer gets the NAK, software the receive completion, the queue pair is in error.
void Responder::fail_receive(QueuePair& qp, const PlacementError& error, port::Time at) {
    auto& r = qp.responder;
    auto& count = path_.count(qp);
    if (error.syndrome == CqeSyndrome::local_length_err)
        ++count.resp_local_length_error;
    else if (error.syndrome == CqeSyndrome::local_prot_err)
        ++count.resp_local_protection;
    else
        ++count.resp_local_qp_error;
    refuse(qp, abi::wire::nak_syndrome(error.nak), at);
    r.has_receive = false;
    failure_.fail_receive(qp, r.receive.index, error.syndrome, error.vendor, at);
    failure_.enter_error(qp, at);
}

} // namespace model::hca::responder

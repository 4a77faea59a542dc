// SEND: receive WQEs and where their bytes go (IBA 9.7.5.2.9; PRM "Receive WQE").
#include "model/hca/responder/responder.h"

#include <algorithm>

namespace model::hca::responder {

using abi::wire::NakCode;
using completion::CqeSyndrome;
using queue::QueuePair;
using Message = queue::ResponderState::Message;
using queue::Take;

namespace {
/// What would be found wrong if `length` bytes were placed: nothing goes through the keys, but they count.
std::optional<PlacementError> check_room(DataPath& path, const QueuePair& qp, std::uint32_t length, port::Time at) {
    const auto& receive = *qp.responder.receive;
    if (length > receive.room())
        return PlacementError{CqeSyndrome::local_length_err, vendor::too_long, NakCode::invalid_request};
    for (const auto& segment : std::span(receive.segments).first(receive.count)) {
        const auto chunk = std::min(length, segment.length);
        if (chunk == 0)
            break;
        const auto checked = path.memory.check({.key = segment.key,
                                                .address = segment.address,
                                                .length = chunk,
                                                .access = tpt::Access::local_write,
                                                .pd = receive.pd,
                                                .qpn = qp.number.value},
                                               at);
        if (!checked)
            return placement_error(checked.error());
        length -= chunk;
    }
    return std::nullopt;
}
} // namespace

/// Makes the next receive WQE current. Refused with an RNR NAK when none is posted.
std::optional<port::Time> Responder::take_receive(QueuePair& qp, port::Time at) {
    auto& r = qp.responder;
    if (r.has_receive) { // of a message that was dropped on the way (unreliable connected)
        r.receive->rewind();
        return at;
    }
    const auto taken = placement_.take(qp, at);
    at = taken.at;
    switch (taken.what) {
    case Take::done: r.has_receive = true; return at;
    case Take::empty:
        ++path_.count(qp).out_of_buffer;
        r.nak_is_out = true; // what follows is dropped without an answer until this packet comes again (IBA 9.7.5.2.8)
        refuse(qp, abi::wire::rnr_syndrome(qp.attributes.min_rnr_nak), at);
        return std::nullopt;
    case Take::unreadable: break;
    }
    if (qp.srq == nullptr) {
        fail_receive(qp, {CqeSyndrome::local_qp_op_err, vendor::wqe, NakCode::remote_operational_error}, at);
        return std::nullopt;
    }
    // No WQE was taken, so none can be completed (IBA 11.6.3.4, SRQ catastrophic error).
    refuse(qp, abi::wire::nak_syndrome(NakCode::remote_operational_error), at);
    failure_.enter_error(qp, abi::prm::EventType::wq_catastrophic_error, at);
    return std::nullopt;
}

std::optional<port::Time> Responder::send(QueuePair& qp, port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    if (packet.traits().is_first) {
        const auto taken = take_receive(qp, at);
        if (!taken)
            return std::nullopt;
        at = *taken;
        r.message = Message::send;
        r.received = 0;
    }
    path_.loans.answers.drain();
    if (is_received_in_cqe(qp, packet)) [[unlikely]] {
        if (const auto error = check_room(path_, qp, packet.payload.size(), at)) {
            fail_receive(qp, *error, at);
            return std::nullopt;
        }
        r.received = packet.payload.size();
        return at;
    }
    const auto segment = r.receive->segment;
    const auto offset = r.receive->offset;
    const auto placed = placement_.place(qp, packet.payload.pieces(), at);
    if (!placed) [[unlikely]] {
        auto error = placed.error();
        if (const auto denied = error.denied; denied && denied->is_page_fault()) {
            r.receive->segment = segment; // the packet comes again as a whole
            r.receive->offset = offset;
            if (packet.traits().is_first)
                r.message = Message::none;
            if (wait_to_place(qp, packet.payload.size(), denied->request, at))
                return std::nullopt;
            error = placement_error(denied->without_wait());
        }
        fail_receive(qp, error, at);
        return std::nullopt;
    }
    r.received += packet.payload.size();
    return placed.value();
}

/// Whether this SEND's completion carries its bytes (PRM "QP context", cs_res), so that software puts them where the
/// WQE says: a message of one packet that the completion has room for.
bool Responder::is_received_in_cqe(const QueuePair& qp, const port::Packet& packet) const {
    const auto bytes = packet.payload.size();
    const auto& traits = packet.traits();
    return bytes != 0 && bytes <= qp.attributes.receive_in_cqe &&
           traits.kind == abi::wire::OperationTraits::Kind::send && traits.is_first && traits.is_last &&
           bytes <= completion::receive_cq(qp).inline_bytes();
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
    completions_.fail_receive(qp, r.receive->index, error.syndrome, error.vendor, at);
    failure_.enter_error(qp, at);
}

} // namespace model::hca::responder

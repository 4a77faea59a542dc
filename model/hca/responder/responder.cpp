#include "model/hca/responder/responder.h"

namespace model::hca::responder {

using queue::QueuePair;

void Responder::start(QueuePair& qp) {
    qp.responder.order.expected = qp.attributes.next_receive_psn;
    qp.responder.order.msn = 0;
    qp.responder.remote.pd = qp.attributes.pd;
}

void Responder::receive(QueuePair& qp, port::Packet& packet, port::Time at) {
    auto& order = qp.responder.order;
    if (!qp.can_receive())
        return;
    at += latency_;
    if (!order.saw_packet) {
        order.saw_packet = true;
        // PRM "Communication established": traffic came before software knew the connection is up.
        if (qp.state == queue::QpState::rtr)
            event_queues_.tell(abi::prm::EventType::communication_established, qp.number.value, at);
    }
    if (!qp.service.is_reliable) [[unlikely]]
        return execution_.execute_unreliable(qp, packet, at);
    const auto ahead = packet.rdma().psn - order.expected;
    if (ahead == 0) [[likely]] {
        order.nak_is_out = false;
        execution_.execute(qp, packet, at);
        if (qp.responder.held) [[unlikely]]
            execute_held(qp, at);
        return;
    }
    if (ahead < 0)
        return duplicates_.receive(qp, packet, at);
    ++qp.counters->out_of_sequence;
    if (static_cast<std::uint32_t>(ahead) < reorder_packets_) {
        if (!qp.responder.held)
            qp.responder.held = std::make_unique<queue::ReorderBuffer>(reorder_packets_);
        qp.responder.held->hold(packet);
    }
    refuse_gap(qp, at);
}

/// A gap is answered with one NAK; what else is under way behind it stays unanswered (IBA 9.7.5.2.8).
void Responder::refuse_gap(QueuePair& qp, port::Time at) {
    if (qp.responder.order.nak_is_out)
        return;
    qp.responder.order.nak_is_out = true;
    answers_.refuse(qp, abi::wire::nak_syndrome(abi::wire::NakCode::psn_sequence_error), at);
}

/// Carries out what came before its turn and has it now. Another gap behind that is told at once: perhaps nothing more
/// comes that would show it.
void Responder::execute_held(QueuePair& qp, port::Time at) {
    auto& order = qp.responder.order;
    auto& held = *qp.responder.held;
    const auto is_next = [&] { return qp.can_receive() && !order.nak_is_out; };
    for (port::Packet* packet = nullptr; is_next() && (packet = held.find(order.expected)) != nullptr;) {
        const auto psn = order.expected;
        execution_.execute(qp, *packet, at);
        held.drop(psn);
        if (order.expected == psn)
            return; // refused, or it waits for a page: it comes again
    }
    if (is_next() && held.first_after(order.expected))
        refuse_gap(qp, at);
}

bool Responder::receive_train(QueuePair& qp, const port::Packet& packet, port::Time at) {
    const auto& order = qp.responder.order;
    if (!qp.can_receive() || !order.saw_packet || packet.rdma().psn != order.expected || qp.responder.held)
        return false;
    return execution_.execute_train(qp, packet, at);
}

/// Software's answer is about the packet that it was told of, and has an effect only if that packet still waits.
void Responder::resume(QueuePair& qp, abi::prm::PageFaultType type, bool is_error, port::Time at) {
    if (!qp.can_receive())
        return;
    scheduler_.add(qp);
    const auto told = qp.paging.told[static_cast<std::size_t>(type)];
    if (type == abi::prm::PageFaultType::remote_read && sender_.resume_read(qp, told, is_error, at))
        return;
    if (is_error && qp.responder.order.expected.value == told)
        paging::PageFaults::give_up(qp, type, qp.responder.order.expected);
}

} // namespace model::hca::responder

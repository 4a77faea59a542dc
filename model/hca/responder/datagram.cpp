#include "model/hca/responder/datagram.h"

#include "model/wire/builder.h"

#include <array>

namespace model::hca::responder {

using completion::CqeOpcode;
using completion::CqeSyndrome;
using queue::QueuePair;

void DatagramResponder::receive(QueuePair& qp, port::Packet& packet, port::Time at) {
    if (!qp.can_receive())
        return;
    at += latency_;
    if (!is_defined(packet.rdma().service, packet.rdma().operation) ||
        packet.payload.size() > qp.attributes.mtu_bytes())
        return report_.drop(packet, "no datagram of this path's MTU", at);
    const auto taken = placement_.take(qp, at);
    at = taken.at;
    switch (taken.what) {
    case queue::Take::done: break;
    case queue::Take::empty: ++qp.counters->out_of_buffer; return report_.drop(packet, "no receive work request", at);
    case queue::Take::unreadable:
        if (qp.srq != nullptr)
            return failure_.enter_error(qp, abi::prm::EventType::wq_catastrophic_error, at);
        return fail(qp, {CqeSyndrome::local_qp_op_err, vendor::wqe, {}}, at);
    }
    placement_.drain_loans();
    const auto header = wire::network_header(packet);
    const std::array head{std::span<const std::byte>(header)};
    auto placed = placement_.place(qp, head, at);
    if (placed)
        placed = placement_.place(qp, packet.payload.pieces(), *placed);
    if (!placed)
        return fail(qp, placed.error(), at);
    at = *placed;
    report_.counters.payload_received += packet.payload.size();
    if (report_.events.is_on()) [[unlikely]]
        report_.events.emit(at, traces::Accepted{qp.number.value, packet.rdma().psn.value, packet.rdma().opcode()});
    complete(qp, packet, qp.responder.order.execute(at));
}

void DatagramResponder::complete(QueuePair& qp, const port::Packet& packet, port::Time at) {
    const bool has_immediate = packet.traits().has_immediate;
    const auto& from = packet.path;
    const bool is_ib = from.encapsulation == port::Encapsulation::infiniband;
    // PRM "CQE", RoCE: the kind of network header takes the place of the service level.
    constexpr std::uint8_t ipv6 = 1, ipv4 = 2;
    const auto l3 = from.encapsulation == port::Encapsulation::roce_v2_ipv4 ? ipv4 : ipv6;
    const bool is_written = completions_.receive(
        qp,
        {.opcode = has_immediate ? CqeOpcode::resp_send_imm : CqeOpcode::resp_send,
         .wqe_counter = qp.responder.receives.wqe->index,
         .byte_count = static_cast<std::uint32_t>(wire::network_header_bytes) + packet.payload.size(),
         .immediate = has_immediate ? packet.rdma().immediate : packet.rdma().pkey,
         .solicited = packet.rdma().solicited,
         .is_datagram = true,
         .source_qpn = packet.rdma().deth.source_qpn,
         .source_lid = from.source_lid,
         .path_bits = is_ib ? identity_.path_bits_of(from.destination_lid) : std::uint8_t{0},
         .service_level = is_ib ? from.service_level : l3,
         .has_grh = !is_ib || from.has_grh},
        at);
    if (!is_written)
        failure_.enter_error(qp, abi::prm::EventType::wq_catastrophic_error, at);
}

/// The work request ends with an error, and the queue pair with it.
void DatagramResponder::fail(QueuePair& qp, const PlacementError& error, port::Time at) {
    completions_.fail_receive(qp, qp.responder.receives.wqe->index, error.syndrome, error.vendor, at);
    failure_.enter_error(qp, at);
}

} // namespace model::hca::responder

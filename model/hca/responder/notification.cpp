#include "model/hca/responder/notification.h"

namespace model::hca::responder {

void Notification::answer(queue::QueuePair& qp, port::Time at) {
    constexpr std::uint8_t traffic_class = 48 << 2;                     // CNP_DSCP, which cannot be marked
    constexpr auto notification = static_cast<abi::wire::Operation>(1); // with the service, the code 0x81
    ++report_.counters.packets_marked;
    if (at < qp.responder.order.next_cnp)
        return;
    auto& wire = outlets_.of(qp);
    if (!wire.can_send(at))
        return; // the next marked packet says the same
    qp.responder.order.next_cnp = at + interval_;
    ++report_.counters.cnps_sent;
    auto& packet = outbox_.begin(qp, wire, {});
    packet.path.traffic_class = traffic_class;
    auto& head = packet.rdma();
    head.service = abi::wire::Service::cnp;
    head.operation = notification;
    head.becn = true;
    outbox_.send_through_pipe(wire, packet, at);
}

} // namespace model::hca::responder

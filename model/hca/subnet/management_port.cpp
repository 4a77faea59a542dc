#include "model/hca/subnet/management_port.h"

namespace model::hca::subnet {

/// Software that has QP0 or QP1 gets the datagrams; without it the agents do, so that the card is always a node of the
/// subnet.
/// Questions of the performance class never reach software: Linux's mlx5_ib would answer them with an empty header
/// (mad.c, process_pma_cmd fills in the counters alone), so a ConnectX must keep them to itself.
bool ManagementPort::takes(const queue::QueuePair* qp, const port::Packet& packet) const {
    if (agent_ == nullptr)
        return false;
    if (qp == nullptr || !qp->can_receive())
        return true;
    if (packet.rdma().destination != management::general_services)
        return false;
    const auto mad = management::take(packet);
    return mad && management::class_of(*mad) == abi::wire::MadClass::performance && management::is_request(*mad);
}

void ManagementPort::receive(port::Packet& packet, port::Time at) {
    const auto lost = [&](traces::Reason why) {
        ++report_.counters.management_dropped;
        report_.drop(packet, why, at);
    };
    if (const auto mad = management::take(packet); mad && agent_->take_notice(*mad, at))
        return;
    if (const auto why = management::answer(packet, *agent_, 1, at))
        return lost(*why);
    auto& way = outlets_.way(identity_.is_own({.rlid = packet.path.destination_lid}));
    if (!way.can_send(at)) {
        agent_->apply_link_change(at);
        return lost("no room for the answer of an agent");
    }
    auto& out = way.next();
    out = packet;
    out.image.clear();
    agent_->apply_link_change(send(way, out, at));
}

bool ManagementPort::send(const management::Datagram& mad, std::uint16_t lid, port::Time at) {
    auto& way = outlets_.way(identity_.is_own({.rlid = lid}));
    if (!way.can_send(at))
        return false;
    auto& packet = way.next();
    packet.path = identity_.path({.rlid = lid}, management::subnet_management);
    auto& head = packet.rdma();
    head.service = abi::wire::Service::ud;
    head.operation = abi::wire::Operation::send_only;
    head.pkey = 0xffff; // nobody looks at it (IBA 10.9)
    head.destination = management::subnet_management;
    head.psn = {};
    head.deth = {.qkey = 0, .source_qpn = management::subnet_management};
    packet.payload.append_copy(mad);
    send(way, packet, at);
    return true;
}

/// Returns when the last bit is out.
port::Time ManagementPort::send(port::Wire& way, port::Packet& packet, port::Time at) {
    outbox_.note(packet, at);
    return way.send(outbox_.enter_pipe(at + latency_));
}

} // namespace model::hca::subnet

// Management datagrams that no queue pair takes: the agents of the device answer them, and its firmware sends its own.
#include "model/hca/hca.h"

namespace model::hca {

/// Answered on the spot by the agents of the device. Management waits for nothing: what finds no room is lost
/// (IBA 7.6.4).
void Hca::manage(port::Packet& packet, port::Time at) {
    const auto lost = [&](traces::Reason why) {
        ++counters_.management_dropped;
        drop(packet, why, at);
    };
    if (!is_in_partition(nullptr, packet, at))
        return;
    if (const auto mad = management::take(packet); mad && agent_->take_notice(*mad, at))
        return;
    if (const auto why = management::answer(packet, *agent_, 1, at))
        return lost(*why);
    auto& way = outlets_.way(identity_.is_own({.rlid = packet.path.destination_lid}));
    if (!way.can_send(at)) {
        agent_->apply_link_change(at);
        return lost("no room for the answer of an agent");
    }
    ++counters_.management_answered;
    auto& out = way.next();
    out = packet;
    out.image.clear();
    agent_->apply_link_change(send_management(way, out, at));
}

bool Hca::send_management(const management::Datagram& mad, std::uint16_t lid, port::Time at) {
    auto& way = outlets_.way(identity_.is_own({.rlid = lid}));
    if (!way.can_send(at))
        return false;
    auto& packet = way.next();
    packet.path = identity_.path({.rlid = lid}, management::subnet_management);
    packet.rdma().service = abi::wire::Service::ud;
    packet.rdma().operation = abi::wire::Operation::send_only;
    packet.rdma().pkey = 0xffff; // nobody looks at it (IBA 10.9)
    packet.rdma().destination = management::subnet_management;
    packet.rdma().psn = {};
    packet.rdma().deth = {.qkey = 0, .source_qpn = management::subnet_management};
    packet.payload.append_copy(mad);
    send_management(way, packet, at);
    return true;
}

port::Time Hca::send_management(port::Wire& way, port::Packet& packet, port::Time at) {
    ++counters_.packets_sent;
    events_.emit(at, traces::PacketSent{packet.rdma().destination.value, packet.rdma().psn.value,
                                        packet.rdma().opcode(), packet.payload.size()});
    return way.send(path_.enter_pipe(at + path_.cost(config_.responder_latency)));
}

} // namespace model::hca

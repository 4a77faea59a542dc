#include "model/hca/ingress/ingress.h"

#include "model/wire/builder.h"
#include "model/wire/parser.h"

namespace model::hca::ingress {

using queue::QueuePair;

void Ingress::receive(port::Packet& packet, port::Time at, queue::Way way) {
    if (!packet.train.is_one()) [[unlikely]] {
        if (!receive_train(packet, at, way))
            receive_one_by_one(packet, at, way);
        return;
    }
    traces::Cause cause(report_.events, traces::Access::packet, packet.cause);
    if (!accept(packet, at) || !is_for_this_port(packet, at))
        return;
    count(1, wire::frame_length(packet), way);
    if (report_.events.is_on()) [[unlikely]]
        cause.becomes(
            report_.events.emit(at, traces::PacketReceived{packet.rdma().destination.value, packet.rdma().psn.value,
                                                           packet.rdma().opcode(), packet.payload.size()}));
    auto* qp = objects_.destination(packet.rdma().destination);
    if (qp == nullptr && packet.rdma().destination == multicast::multicast_qpn)
        return receive_multicast(packet, at, way);
    if (packet.rdma().destination.value < objects_.special.size() && to_.management.takes(qp, packet)) [[unlikely]] {
        if (is_in_partition(nullptr, packet, at))
            to_.management.receive(packet, at);
        return;
    }
    if (qp == nullptr)
        return report_.drop(packet, "no such queue pair", at);
    at = contexts_.queue_pair(qp->number, at);
    if (packet.rdma().service == abi::wire::Service::cnp) [[unlikely]]
        return receive_notification(*qp, packet, at);
    if (packet.traits().is_request())
        bring_in(*qp, qp->responder);
    else
        bring_in(*qp, qp->requester);
    if (packet.rdma().service != qp->service.on_wire)
        return report_.drop(packet, "transport service of another kind of queue pair", at);
    if (qp->service.is_local) [[unlikely]]
        return report_.drop(packet, "queue pair without a peer", at);
    if (!is_in_partition(qp, packet, at))
        return;
    if (!packet.traits().is_valid()) [[unlikely]]
        return report_.drop(packet, "reserved operation", at);
    if (qp->service.is_datagram) {
        if (!qp->can_receive() || has_queue_key(*qp, packet, at))
            to_.datagram.receive(*qp, packet, at);
        return;
    }
    if (qp->can_receive() && !identity_.is_from_peer(qp->path, packet.path)) [[unlikely]]
        return report_.drop(packet, "not from the peer of this connection", at);
    to_.responder.notice(*qp, packet, at);
    // XRC: one side sends requests, the other has no send queue and answers them (IBA annex A14).
    if (qp->service.on_wire == abi::wire::Service::xrc && packet.traits().is_request() == qp->attributes.has_sq)
        return report_.drop(packet, "the wrong side of an XRC connection", at);
    if (packet.traits().is_request())
        to_.responder.receive(*qp, packet, at);
    else
        to_.requester.receive(*qp, packet, at);
}

/// Takes a train in as one packet, where all of its packets are what the queue pair waits for. Otherwise nothing has
/// happened.
bool Ingress::receive_train(const port::Packet& packet, port::Time at, queue::Way way) {
    auto* qp = objects_.destination(packet.rdma().destination);
    const bool is_regular =
        qp != nullptr && qp->service.on_wire == packet.rdma().service && identity_.has_link_address(packet) &&
        identity_.has_network_address(packet) && identity_.is_from_peer(qp->path, packet.path) &&
        address::Identity::matches(packet.rdma().pkey, identity_.pkey(qp->attributes.path.pkey_index));
    if (!is_regular || !to_.responder.receive_train(*qp, packet, at))
        return false;
    count(packet.train.packets, wire::frames_length(packet), way);
    contexts_.queue_pair_again(qp->number, packet.train.packets);
    return true;
}

/// What comes by the way inside has crossed no cable, of which the counters of the port are.
void Ingress::count(std::uint32_t packets, std::uint64_t bytes, queue::Way way) {
    auto& counters = report_.counters;
    counters.packets_received += packets;
    counters.bytes_received += bytes;
    if (way == queue::Way::inside) [[unlikely]] {
        counters.packets_turned += packets;
        counters.bytes_turned += bytes;
    }
}

void Ingress::receive_one_by_one(const port::Packet& train, port::Time at, queue::Way way) {
    const auto [packets, unit, ends_message] = train.train;
    port::Packet one; // each may have to wait for a client's memory, and another train come here meanwhile
    for (std::uint32_t i = 0; i != packets; ++i) {
        one.clear();
        one.path = train.path;
        auto& head = one.rdma() = train.rdma();
        head.operation = wire::operation_in(train, i);
        head.psn += i;
        const bool is_last = i + 1 == packets;
        head.ack_request = is_last && train.rdma().ack_request;
        const auto offset = std::size_t{i} * unit;
        one.payload.become_part(train.payload, offset, is_last ? train.payload.size() - offset : unit);
        receive(one, at, way);
    }
}

/// Whether this is a valid RDMA packet. One that came as exact bytes is parsed; others were never bytes, and are valid
/// as they are.
bool Ingress::accept(port::Packet& packet, port::Time at) {
    if (packet.image.empty() && !packet.is_plain_frame()) [[likely]]
        return true;
    const auto link = identity_.is_ethernet ? port::Encapsulation::roce_v2_ipv4 : port::Encapsulation::infiniband;
    if (const auto unpacked = wire::unpack(packet, link); !unpacked) {
        ++report_.counters.packets_damaged;
        report_.drop(packet, wire::reason(unpacked.error()), at);
        return false;
    }
    if (!packet.is_plain_frame())
        return true;
    // TODO: an Ethernet port, which takes them; until there is one they end here.
    ++report_.counters.frames_without_receiver;
    report_.events.emit(at, traces::FrameDropped{.length = packet.payload.size(),
                                                 .ethertype = wire::ethertype(packet),
                                                 .reason = "no receiver for plain frames"});
    return false;
}

/// A CNP is about the connection whose peer has sent it (RoCEv2 annex A17.9.3).
void Ingress::receive_notification(QueuePair& qp, const port::Packet& packet, port::Time at) {
    if (qp.service.is_datagram || qp.service.is_local || !identity_.is_from_peer(qp.path, packet.path))
        return report_.drop(packet, "a CNP of no connection", at);
    to_.requester.slow_down(qp, at);
}

/// Gives every member of the group a copy (IBA 10.5.2). When one of them does not take it, the others still do.
void Ingress::receive_multicast(port::Packet& packet, port::Time at, queue::Way way) {
    if (packet.rdma().service != abi::wire::Service::ud || !packet.traits().is_valid())
        return report_.drop(packet, "multicast is for datagrams", at);
    // IBA 10.5.1: a multicast packet has a global route header.
    const bool has_group = packet.path.has_grh || packet.path.encapsulation != port::Encapsulation::infiniband;
    const auto members = objects_.groups.members(packet.path.destination_gid);
    ++report_.counters.multicast_received;
    report_.counters.multicast_bytes_received += wire::frame_length(packet);
    if (way == queue::Way::inside) {
        ++report_.counters.multicast_turned;
        report_.counters.multicast_bytes_turned += wire::frame_length(packet);
    }
    if (!has_group || members.empty())
        return report_.drop(packet, "no member of this multicast group", at);
    for (auto* qp : members)
        if (is_in_partition(qp, packet, at) && (!qp->can_receive() || has_queue_key(*qp, packet, at)))
            to_.datagram.receive(*qp, packet, at);
}

/// Whether the packet is for this port. A packet for another port is silently dropped.
bool Ingress::is_for_this_port(const port::Packet& packet, port::Time at) {
    const bool is_here = identity_.has_link_address(packet);
    if (is_here && identity_.has_network_address(packet)) [[likely]]
        return true;
    ++report_.counters.packets_misaddressed;
    using traces::Reason;
    report_.drop(packet,
                 is_here                 ? Reason("the GID of another port")
                 : identity_.is_ethernet ? Reason("the MAC of another port")
                                         : Reason("the LID of another port"),
                 at);
    return false;
}

/// IBA 10.9: subnet management knows no partitions, QP1 is in all of its port's, any other queue pair in the one at its
/// index.
bool Ingress::is_in_partition(const QueuePair* qp, const port::Packet& packet, port::Time at) {
    if (packet.rdma().destination == management::subnet_management)
        return true;
    const bool is_in =
        packet.rdma().destination == management::general_services
            ? identity_.is_in_table(packet.rdma().pkey)
            : address::Identity::matches(packet.rdma().pkey, identity_.pkey(qp->attributes.path.pkey_index));
    if (is_in) [[likely]]
        return true;
    ++report_.counters.pkey_violations;
    report_.drop(packet, "P_Key mismatch", at);
    to_.management.report(management::Agent::BadKey::p_key, packet, at);
    return false;
}

/// IBA 10.2.5: subnet management comes without a queue key that counts (IBA 9.8.3.1).
bool Ingress::has_queue_key(const QueuePair& qp, const port::Packet& packet, port::Time at) {
    if (packet.rdma().deth.qkey == qp.attributes.q_key || qp.attributes.type == queue::QpType::qp0) [[likely]]
        return true;
    ++report_.counters.qkey_violations;
    report_.drop(packet, "Q_Key mismatch", at);
    to_.management.report(management::Agent::BadKey::q_key, packet, at);
    return false;
}

} // namespace model::hca::ingress

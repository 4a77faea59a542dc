#include "model/net/infiniband_switch.h"

#include "abi/wire/infiniband.h"
#include "abi/wire/mad.h"
#include "model/wire/builder.h"
#include "model/wire/parser.h"
#include "model/management/datagram.h"
#include "model/management/route.h"

#include <algorithm>

namespace model::net {

using namespace abi::wire;

namespace {
using management::general_services, management::subnet_management;

bool is_multicast(const port::Packet& packet) {
    return packet.path.destination_lid >= first_multicast_lid && packet.path.destination_lid != permissive_lid;
}
} // namespace

InfinibandSwitch::InfinibandSwitch(const SwitchConfig& config, traces::Events events)
    : config_(config), events_(events), agent_(config.agent), performance_(0, config.agent.ports),
      ports_(config.agent.ports + 1) {
    for (unsigned number = 0; number < ports_.size(); ++number) {
        ports_[number].owner = this;
        ports_[number].number = number;
    }
}

void InfinibandSwitch::receive(unsigned ingress, port::Packet& packet, port::Time at) {
    at += config_.latency;
    if (!packet.image.empty() || packet.is_plain_frame()) {
        // A damaged packet goes no further than the next port (IBA 7.8.2), and neither does what is no packet at all.
        if (const auto unpacked = wire::unpack(packet, port::Encapsulation::infiniband); !unpacked) {
            ++ports_[ingress].damaged;
            return drop(packet, wire::reason(unpacked.error()), at);
        }
        packet.image.clear();
    }
    ++ports_[ingress].packets_received;
    ports_[ingress].bytes_received += wire::frame_length(packet);
    ports_[ingress].multicast_received += is_multicast(packet);
    const auto to = packet.path.destination_lid;
    if (packet.rdma().destination == subnet_management && (to == permissive_lid || to == agent_.lid()))
        return manage(ingress, packet, at);
    if (packet.rdma().destination != subnet_management && !agent_.carries_data(ingress))
        return drop(packet, "the port is not armed", at);
    if (packet.rdma().destination == general_services && to == agent_.lid())
        return serve(ingress, packet, at);
    if (is_multicast(packet))
        return flood(ingress, packet, at);
    route(ingress, packet, at);
}

void InfinibandSwitch::route(unsigned ingress, port::Packet& packet, port::Time at) {
    const auto egress = agent_.route(packet.path.destination_lid);
    if (!is_port(egress) || egress == ingress) {
        ++ports_[ingress].not_relayed;
        return drop(packet, "no route to the LID", at);
    }
    if (packet.rdma().destination != subnet_management && !agent_.carries_data(egress)) {
        ++ports_[egress].discarded;
        return drop(packet, "the port is not armed", at);
    }
    send(ingress, egress, packet, at);
}

void InfinibandSwitch::flood(unsigned ingress, port::Packet& packet, port::Time at) {
    const auto members = agent_.group(packet.path.destination_lid);
    for (unsigned egress = 1; egress < ports_.size(); ++egress)
        if (egress != ingress && members >> egress & 1 && is_port(egress) && agent_.carries_data(egress))
            send(ingress, egress, packet, at);
}

/// Subnet management for the switch itself, or a datagram that is on its way by the route that it carries.
void InfinibandSwitch::manage(unsigned ingress, port::Packet& packet, port::Time at) {
    auto mad = management::take(packet);
    if (!mad)
        return drop(packet, "no management datagram", at);
    if (management::class_of(*mad) == MadClass::subnet_directed_route)
        return manage_on_route(ingress, packet, at);
    if (management::class_of(*mad) != MadClass::subnet_lid_routed || !agent_.process(*mad, ingress))
        return drop(packet, "no agent for this datagram", at);
    management::put(*mad, packet);
    management::reverse(packet);
    apply_link_changes(send(ingress, ingress, packet, at));
}

/// Takes links down or up as managers have asked. To be called after the answer was sent, since the answer to whoever
/// sets a port down may have to leave by that port.
void InfinibandSwitch::apply_link_changes(port::Time at) {
    agent_.apply_link_changes([&](unsigned number, bool is_on) {
        return ports_[number].out != nullptr && ports_[number].out->set_on(is_on, at);
    });
}

void InfinibandSwitch::manage_on_route(unsigned ingress, port::Packet& packet, port::Time at) {
    auto mad = *management::take(packet);
    const auto step = management::follow_route(mad, ingress, true);
    if (step.kind == management::Step::Kind::drop)
        return drop(packet, *step.why, at);
    if (step.kind == management::Step::Kind::answer) {
        if (!agent_.process(mad, ingress))
            return drop(packet, "no agent for this datagram", at);
        management::turn_back(mad);
    }
    if (!is_port(step.port))
        return drop(packet, "a route through no port", at);
    management::put(mad, packet);
    apply_link_changes(send(ingress, step.port, packet, at));
}

/// General services for port 0, where only the performance agent is.
void InfinibandSwitch::serve(unsigned ingress, port::Packet& packet, port::Time at) {
    auto mad = management::take(packet);
    if (!mad)
        return drop(packet, "no management datagram", at);
    if (management::class_of(*mad) != MadClass::performance || !management::is_request(*mad))
        return drop(packet, "no agent for this datagram", at);
    performance_.process(*mad, [this](unsigned number) { return totals(number); });
    management::put(*mad, packet);
    management::reverse(packet);
    send(ingress, ingress, packet, at);
}

management::PortTotals InfinibandSwitch::totals(unsigned number) const {
    const auto& p = ports_[number];
    const auto sent = p.out != nullptr ? p.out->sent() : port::Traffic{};
    // Data counts in 32-bit words, without the VCRC (IBA 16.1.3.5).
    const auto words = [](std::uint64_t bytes, std::uint64_t packets) { return (bytes - packets * vcrc_bytes) / 4; };
    return {.data_sent = words(sent.bytes, sent.packets),
            .data_received = words(p.bytes_received, p.packets_received),
            .packets_sent = sent.packets,
            .packets_received = p.packets_received,
            .unicast_sent = sent.packets - p.multicast_sent,
            .unicast_received = p.packets_received - p.multicast_received,
            .multicast_sent = p.multicast_sent,
            .multicast_received = p.multicast_received,
            .receive_errors = p.damaged,
            .relay_errors = p.not_relayed,
            .discards = p.discarded};
}

port::Time InfinibandSwitch::send(unsigned ingress, unsigned egress, port::Packet& packet, port::Time at) {
    auto& out = *ports_[egress].out;
    ports_[egress].multicast_sent += is_multicast(packet);
    const traces::Cause cause(events_, packet.cause);
    const auto forwarded = events_.emit(at, traces::PacketForwarded{ingress, egress, packet.path.destination_lid});
    auto& copy = out.next();
    copy = packet;
    copy.cause = forwarded != 0 ? forwarded : packet.cause;
    return out.send(at);
}

/// Whether a packet that comes in at `ingress` finds room wherever it goes: it may go to any other port.
bool InfinibandSwitch::has_room(unsigned ingress, port::Time now) {
    return std::ranges::all_of(ports_, [&](const Port& port) {
        return port.out == nullptr || port.number == ingress || port.out->can_send(now);
    });
}

void InfinibandSwitch::drop(const port::Packet& packet, traces::Reason why, port::Time at) {
    ++dropped_;
    const traces::Cause cause(events_, packet.cause);
    events_.emit(at, traces::PacketDropped{packet.rdma().destination.value, packet.rdma().psn.value, why});
}

} // namespace model::net

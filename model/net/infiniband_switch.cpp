#include "model/net/infiniband_switch.h"

#include "abi/wire/infiniband.h"
#include "abi/wire/mad.h"
#include "model/hca/wire/parser.h"

#include <algorithm>
#include <array>
#include <utility>

namespace model::net {

using namespace abi::wire;

namespace {
constexpr abi::Qpn subnet_management{0};
using Mad = std::array<std::byte, mad_bytes>;

void put(const Mad& mad, port::Packet& packet) {
    packet.payload.clear();
    packet.payload.append_copy(mad);
}
} // namespace

InfinibandSwitch::InfinibandSwitch(const SwitchConfig& config, traces::Events events)
    : config_(config), events_(events), agent_(config.agent), ports_(config.agent.ports + 1) {
    for (unsigned number = 0; number < ports_.size(); ++number) {
        ports_[number].owner = this;
        ports_[number].number = number;
    }
}

void InfinibandSwitch::receive(unsigned ingress, port::Packet& packet, port::Time at) {
    at += config_.latency;
    if (!packet.image.empty()) {
        // IBA 7.8.2: a damaged packet goes no further than the next port.
        if (const auto parsed = hca::wire::parse(packet.image, port::Encapsulation::infiniband, packet); !parsed)
            return drop(packet, hca::wire::name(parsed.error()), at);
        packet.image.clear();
    }
    const auto to = packet.path.destination_lid;
    if (packet.destination == subnet_management && (to == permissive_lid || to == agent_.lid()))
        return manage(ingress, packet, at);
    if (packet.destination != subnet_management && !agent_.carries_data(ingress))
        return drop(packet, "the port is not armed", at);
    if (to >= first_multicast_lid && to != permissive_lid)
        return flood(ingress, packet, at);
    route(ingress, packet, at);
}

void InfinibandSwitch::route(unsigned ingress, port::Packet& packet, port::Time at) {
    const auto egress = agent_.route(packet.path.destination_lid);
    if (!is_port(egress) || egress == ingress)
        return drop(packet, "no route to the LID", at);
    if (packet.destination != subnet_management && !agent_.carries_data(egress))
        return drop(packet, "the port is not armed", at);
    send(egress, packet, at);
}

void InfinibandSwitch::flood(unsigned ingress, port::Packet& packet, port::Time at) {
    const auto members = agent_.group(packet.path.destination_lid);
    for (unsigned egress = 1; egress < ports_.size(); ++egress)
        if (egress != ingress && members >> egress & 1 && is_port(egress) && agent_.carries_data(egress))
            send(egress, packet, at);
}

/// Management of the switch itself, or on its way by the route it carries.
void InfinibandSwitch::manage(unsigned ingress, port::Packet& packet, port::Time at) {
    if (packet.service != Service::ud || packet.payload.size() != mad_bytes)
        return drop(packet, "no management datagram", at);
    Mad mad;
    packet.payload.copy_to(mad);
    const abi::ConstView<MadHeader> header{std::span<const std::byte, mad_bytes>(mad).first<MadHeader::size>()};
    if (static_cast<MadClass>(header.get<"mgmt_class">()) == MadClass::subnet_directed_route)
        return manage_on_route(ingress, packet, at);
    if (static_cast<MadClass>(header.get<"mgmt_class">()) != MadClass::subnet_lid_routed || !agent_.process(mad, ingress))
        return drop(packet, "no agent for this datagram", at);
    std::swap(packet.path.source_lid, packet.path.destination_lid);
    put(mad, packet);
    send(ingress, packet, at);
}

/// IBA 14.2.2.2: outward along the initial path, which leaves the return path behind it; back along that one.
void InfinibandSwitch::manage_on_route(unsigned ingress, port::Packet& packet, port::Time at) {
    constexpr unsigned most_hops = 63;
    Mad mad;
    packet.payload.copy_to(mad);
    const std::span<std::byte, mad_bytes> bytes(mad);
    const abi::View<MadHeader> header(bytes.first<MadHeader::size>());
    const auto outward = bytes.subspan<Smp::field<"initial_path">::offset, 64>();
    const auto back = bytes.subspan<Smp::field<"return_path">::offset, 64>();
    const unsigned hops = header.get<"hop_cnt">();
    unsigned at_hop = header.get<"hop_ptr">();
    if (hops > most_hops)
        return drop(packet, "a route of too many hops", at);
    unsigned egress = 0;
    if (header.get<"status">() & smp_direction) {
        if (at_hop < 2 || at_hop > hops)
            return drop(packet, "a route that ends at a switch", at);
        egress = std::to_integer<unsigned>(back[--at_hop]);
    } else if (at_hop >= 1 && at_hop < hops) {
        back[at_hop] = static_cast<std::byte>(ingress);
        egress = std::to_integer<unsigned>(outward[++at_hop]);
    } else if (at_hop == hops && at_hop != 0) {
        back[at_hop] = static_cast<std::byte>(ingress);
        if (!agent_.process(mad, ingress))
            return drop(packet, "no agent for this datagram", at);
        header.set<"status">(header.get<"status">() | smp_direction);
        egress = ingress; // hop_ptr: one up at the end of the way, one down at the start of the way back
    }
    if (!is_port(egress))
        return drop(packet, "a route through no port", at);
    header.set<"hop_ptr">(static_cast<std::uint8_t>(at_hop));
    put(mad, packet);
    send(egress, packet, at);
}

void InfinibandSwitch::send(unsigned egress, port::Packet& packet, port::Time at) {
    auto& out = *ports_[egress].out;
    auto& copy = out.next();
    copy = packet;
    // Lent bytes of a READ response lie where its sender may write as soon as its own cable is empty.
    if (copy.traits().kind == OperationTraits::Kind::read_response)
        copy.payload.own();
    out.send(at);
}

/// Any packet may go to any other port.
bool InfinibandSwitch::has_room(unsigned ingress, port::Time now) {
    return std::ranges::all_of(ports_, [&](const Port& port) { return port.out == nullptr || port.number == ingress || port.out->can_send(now); });
}

void InfinibandSwitch::drop(const port::Packet& packet, std::string_view why, port::Time at) {
    ++dropped_;
    events_.emit(at, traces::PacketDropped{packet.destination.value, packet.psn.value, why});
}

} // namespace model::net

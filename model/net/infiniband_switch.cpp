#include "model/net/infiniband_switch.h"

#include "abi/wire/infiniband.h"
#include "abi/wire/mad.h"
#include "model/wire/builder.h"
#include "model/wire/parser.h"
#include "model/management/datagram.h"
#include "model/management/route.h"

#include <algorithm>
#include <bit>

namespace model::net {

using namespace abi::wire;

namespace {
using management::general_services, management::subnet_management;

bool is_multicast(const port::Packet& packet) {
    return packet.path.destination_lid >= first_multicast_lid && packet.path.destination_lid != permissive_lid;
}
} // namespace

InfinibandSwitch::InfinibandSwitch(const SwitchConfig& config, traces::Events events, port::Clock* clock)
    : config_(config), events_(events), clock_(config.is_timed ? clock : nullptr), agent_(config.agent),
      performance_(0, config.agent.ports), ports_(config.agent.ports + 1), buffers_(config.agent.ports + 1) {
    for (unsigned number = 0; number < ports_.size(); ++number) {
        ports_[number].owner = this;
        ports_[number].number = number;
    }
}

void InfinibandSwitch::receive(unsigned ingress, port::Packet& packet, port::Time at) {
    const auto bytes = wire::frame_length(packet);
    // The management lane has no flow control (IBA 7.9.1).
    const bool is_granted = packet.is_plain_frame() || packet.rdma().destination != subnet_management;
    arriving_ = {.ingress = ingress,
                 .bytes = is_granted ? bytes : 0,
                 .blocks = Credits::blocks_of(bytes),
                 .gone = at + config_.latency};
    arrived_ = nullptr;
    handle(ingress, packet, at + config_.latency);
    if (arrived_ == nullptr && is_granted && ports_[ingress].out != nullptr)
        ports_[ingress].out->give_credit(bytes, arriving_.gone);
}

void InfinibandSwitch::handle(unsigned ingress, port::Packet& packet, port::Time at) {
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
    const auto egress = way_of(ingress, packet, at);
    if (!is_port(egress) || egress == ingress) {
        ++ports_[ingress].not_relayed;
        return drop(packet, "no route to the LID", at);
    }
    if (packet.rdma().destination != subnet_management && !agent_.carries_data(egress)) {
        ++ports_[egress].discarded;
        return drop(packet, "the port is not armed", at);
    }
    if (is_too_long(egress, packet, at))
        return;
    send_or_keep(egress, packet, at);
}

/// A packet longer than what the other end of the cable takes is discarded (IBA 16.1.3.5, PortXmitDiscards).
bool InfinibandSwitch::is_too_long(unsigned egress, const port::Packet& packet, port::Time at) {
    if (packet.payload.size() <= agent_.mtu_bytes(egress)) [[likely]]
        return false;
    ++ports_[egress].discarded;
    drop(packet, "longer than the MTU of the next link", at);
    return true;
}

/// The port by which a packet leaves. Of equal ways whose links carry data the one with the shortest queue, then with
/// the least that its line has to send; of several such ones each in turn. Datagrams go as the table says.
unsigned InfinibandSwitch::way_of(unsigned ingress, const port::Packet& packet, port::Time at) {
    const auto to = packet.path.destination_lid;
    const auto service = packet.rdma().service;
    const bool is_free = config_.is_adaptive && to < ways_.size() && ways_[to].size() > 1 &&
                         (service == Service::rc || service == Service::xrc);
    if (!is_free)
        return agent_.route(to);
    const auto busy = [&](unsigned way) {
        const auto& out = ports_[way];
        return std::pair{buffers_.waiting_for(way),
                         out.link != nullptr ? out.link->backlog(out.end, at) : port::Time{}};
    };
    const auto leads = [&](unsigned way) { return is_port(way) && way != ingress && agent_.carries_data(way); };
    std::uint64_t least_busy = 0; // ports, a bit each
    std::pair<std::size_t, port::Time> least{};
    for (const auto way : ways_[to]) {
        if (!leads(way))
            continue;
        const auto found = busy(way);
        if (least_busy == 0 || found < least)
            least_busy = 0, least = found;
        if (found == least)
            least_busy |= std::uint64_t{1} << way;
    }
    if (least_busy == 0)
        return SwitchAgent::no_port;
    for (auto others = turn_++ % static_cast<unsigned>(std::popcount(least_busy)); others != 0; --others)
        least_busy &= least_busy - 1;
    return static_cast<unsigned>(std::countr_zero(least_busy));
}

void InfinibandSwitch::flood(unsigned ingress, port::Packet& packet, port::Time at) {
    const auto members = agent_.group(packet.path.destination_lid);
    for (unsigned egress = 1; egress < ports_.size(); ++egress)
        if (egress != ingress && members >> egress & 1 && is_port(egress) && agent_.carries_data(egress) &&
            !is_too_long(egress, packet, at))
            send_or_keep(egress, packet, at);
}

/// Subnet management for the switch itself, or a datagram that is on its way by the route that it carries.
void InfinibandSwitch::manage(unsigned ingress, port::Packet& packet, port::Time at) {
    auto mad = management::take(packet);
    if (!mad)
        return drop(packet, "no management datagram", at);
    if (management::class_of(*mad) == MadClass::subnet_directed_route)
        return manage_on_route(ingress, packet, at);
    if (management::class_of(*mad) != MadClass::subnet_lid_routed || !agent_.process(*mad, ingress, at))
        return drop(packet, "no agent for this datagram", at);
    management::put(*mad, packet);
    management::reverse(packet);
    apply_changes(send(ingress, ingress, packet, at));
}

/// Takes links down or up as managers have asked, and goes by the lifetimes that they have set. To be called after the
/// answer was sent, since the answer to whoever sets a port down may have to leave by that port.
void InfinibandSwitch::apply_changes(port::Time at) {
    watch_heads(at);
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
        if (!agent_.process(mad, ingress, at))
            return drop(packet, "no agent for this datagram", at);
        management::turn_back(mad);
    }
    if (!is_port(step.port))
        return drop(packet, "a route through no port", at);
    management::put(mad, packet);
    apply_changes(send(ingress, step.port, packet, at));
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
    send_or_keep(ingress, packet, at);
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
            .discards = p.discarded,
            .transmit_waits =
                p.counters != nullptr
                    ? static_cast<std::uint64_t>(p.counters->waited / management::tick(config_.agent.rate_gbps))
                    : 0};
}

/// Sends the packet that comes in, unless the port does not take it now or others wait for the port.
void InfinibandSwitch::send_or_keep(unsigned egress, port::Packet& packet, port::Time at) {
    if (at < ports_[egress].stalled_until && arriving_.bytes != 0) [[unlikely]] {
        ++ports_[egress].discarded;
        ++ports_[egress].outlived;
        return drop(packet, "a lane that has stalled", at);
    }
    if (arriving_.bytes == 0 ||
        (!buffers_.is_waiting_for(egress) && ports_[egress].out->can_send(at - config_.latency))) {
        auto& gone = (arrived_ != nullptr ? *arrived_ : arriving_).gone;
        gone = std::max(gone, send(arriving_.ingress, egress, packet, at));
        ports_[egress].outlived_in_row = 0;
        return;
    }
    if (arrived_ == nullptr && !buffers_.has_room(arriving_.ingress, arriving_.blocks)) {
        // A sender that goes by its credits never comes here.
        ++ports_[egress].discarded;
        ++dropped_;
        return;
    }
    const bool is_first = !buffers_.is_waiting_for(egress);
    buffers_.keep(arrived_, arriving_, egress, packet, at);
    if (is_first)
        watch_head(egress, at);
}

/// Port `egress` takes packets again.
void InfinibandSwitch::go_on(unsigned egress, port::Time at) {
    auto& out = *ports_[egress].out;
    bool has_sent = false;
    while (buffers_.is_waiting_for(egress) && out.can_send(at)) {
        has_sent = true;
        auto& waiting = buffers_.take(egress);
        const auto ingress = waiting.stay->ingress;
        const auto gone = send(ingress, egress, waiting.packet, std::max(at, waiting.at));
        if (const auto* stay = buffers_.done(waiting, gone))
            ports_[ingress].out->give_credit(stay->bytes, stay->gone);
    }
    if (!has_sent)
        return;
    ports_[egress].outlived_in_row = 0;
    if (buffers_.is_waiting_for(egress))
        watch_head(egress, at);
}

/// What waits for port `egress` is lost (IBA 16.1.3.5, PortXmitDiscards): its link is down, or its lane has stalled.
void InfinibandSwitch::discard_waiting(unsigned egress, traces::Reason why, port::Time at) {
    while (buffers_.is_waiting_for(egress))
        discard_first(egress, why, at);
}

void InfinibandSwitch::discard_first(unsigned egress, traces::Reason why, port::Time at) {
    auto& waiting = buffers_.take(egress);
    const auto ingress = waiting.stay->ingress;
    ++ports_[egress].discarded;
    drop(waiting.packet, why, at);
    if (const auto* stay = buffers_.done(waiting, at))
        ports_[ingress].out->give_credit(stay->bytes, stay->gone);
}

/// Another packet is the first that waits for `egress`.
void InfinibandSwitch::watch_head(unsigned egress, port::Time at) {
    ports_[egress].head_since = at;
    if (clock_ == nullptr)
        return;
    const auto end = end_of_life(egress);
    if (end < looks_at_)
        clock_->wake_at(looks_at_ = end);
}

/// A manager may have set other lifetimes.
void InfinibandSwitch::watch_heads(port::Time at) {
    if (clock_ == nullptr)
        return;
    auto first = looks_at_;
    for (unsigned egress = 1; egress < ports_.size(); ++egress)
        if (buffers_.is_waiting_for(egress))
            first = std::min(first, std::max(at, end_of_life(egress)));
    if (first < looks_at_)
        clock_->wake_at(looks_at_ = first);
}

/// When the packet that waits first for `egress` is too old.
port::Time InfinibandSwitch::end_of_life(unsigned egress) const {
    const auto life = agent_.lifetime(egress).life();
    return life != port::never ? ports_[egress].head_since + life : port::never;
}

void InfinibandSwitch::wake(port::Time now) {
    looks_at_ = port::never;
    for (unsigned egress = 1; egress < ports_.size(); ++egress)
        end_lives(egress, now);
    watch_heads(now);
}

/// Discards what waits for `egress` and is too old. After VLStallCount such packets in a row the lane stalls: all that
/// is there and all that comes is discarded, for eight times HOQLife (IBA 18.2.5.4).
void InfinibandSwitch::end_lives(unsigned egress, port::Time now) {
    auto& port = ports_[egress];
    while (buffers_.is_waiting_for(egress)) {
        if (end_of_life(egress) > now)
            return;
        const auto& lifetime = agent_.lifetime(egress);
        ++port.outlived;
        discard_first(egress, "too long at the head of its queue", now);
        port.head_since = now;
        if (++port.outlived_in_row != lifetime.vl_stall_count)
            continue;
        port.outlived_in_row = 0;
        port.stalled_until = now + lifetime.stall();
        port.outlived += buffers_.waiting_for(egress);
        discard_waiting(egress, "a lane that has stalled", now);
    }
}

port::Time InfinibandSwitch::send(unsigned ingress, unsigned egress, const port::Packet& packet, port::Time at) {
    auto& out = *ports_[egress].out;
    ports_[egress].multicast_sent += is_multicast(packet);
    const traces::Cause cause(events_, packet.cause);
    const auto forwarded = events_.emit(at, traces::PacketForwarded{ingress, egress, packet.path.destination_lid});
    auto& copy = out.next();
    copy = packet;
    copy.cause = forwarded != 0 ? forwarded : packet.cause;
    return out.send(at);
}

void InfinibandSwitch::drop(const port::Packet& packet, traces::Reason why, port::Time at) {
    ++dropped_;
    const traces::Cause cause(events_, packet.cause);
    events_.emit(at, traces::PacketDropped{packet.rdma().destination.value, packet.rdma().psn.value, why});
}

} // namespace model::net

#include "model/net/ethernet_switch.h"

#include "abi/wire/ip.h"
#include "model/wire/builder.h"
#include "model/wire/parser.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

namespace model::net {

namespace {

constexpr std::size_t most_learned = 32 * 1024; ///< MACs; more are flooded

std::uint64_t number_of(const port::MacAddress& mac) {
    std::uint64_t number = 0;
    std::memcpy(&number, mac.data(), mac.size());
    return number;
}
bool is_group(const port::MacAddress& mac) { return (mac[0] & std::byte{1}) != std::byte{0}; }
/// 01-80-C2-00-00-00 to 0F, of protocols between neighbours (spanning trees, pauses, LACP, LLDP), which no bridge
/// forwards (IEEE 802.1Q 8.6.3).
bool is_of_this_link(const port::MacAddress& mac) {
    constexpr std::array<std::uint8_t, 5> reserved{0x01, 0x80, 0xc2, 0x00, 0x00};
    return std::ranges::equal(std::span(mac).first<5>(), reserved, {},
                              [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); }) &&
           std::to_integer<unsigned>(mac[5]) < 0x10;
}

/// Addresses of any frame.
struct Addresses {
    port::MacAddress to{}, from{};
};
Addresses addresses_of(const port::Packet& packet) {
    if (!packet.is_plain_frame())
        return {packet.path.destination_mac, packet.path.source_mac};
    Addresses found;
    std::array<std::byte, abi::wire::Ethernet::size> head{};
    packet.payload.copy_front_to(head);
    std::memcpy(found.to.data(), head.data(), found.to.size());
    std::memcpy(found.from.data(), head.data() + found.to.size(), found.from.size());
    return found;
}

/// The same for all packets of a flow, and well mixed (splitmix64).
std::uint64_t flow_of(const port::Packet& packet, std::uint64_t seed) {
    if (packet.is_plain_frame())
        return 0;
    const auto& path = packet.path;
    std::array<std::uint64_t, 4> gids{};
    std::memcpy(gids.data(), path.source_gid.data(), sizeof path.source_gid);
    std::memcpy(gids.data() + 2, path.destination_gid.data(), sizeof path.destination_gid);
    auto mixed = Random(seed ^ path.udp_source_port).next();
    for (const auto part : gids)
        mixed = Random(mixed ^ part).next();
    return mixed;
}

} // namespace

EthernetSwitch::EthernetSwitch(const EthernetSwitchConfig& config, port::Clock& clock, traces::Events events)
    : config_(config), clock_(clock), events_(events), ports_(config.ports + 1),
      buffer_(config.ports + 1, config.buffer) {
    for (unsigned number = 0; number < ports_.size(); ++number) {
        ports_[number].owner = this;
        ports_[number].number = number;
    }
}

void EthernetSwitch::set_ways(const port::MacAddress& mac, std::vector<std::uint8_t> ports) {
    ways_[number_of(mac)] = std::move(ports);
}

void EthernetSwitch::receive(unsigned ingress, port::Packet& packet, port::Time at) {
    collect(at);
    auto& from = ports_[ingress];
    if (!is_whole(from, packet, at))
        return;
    const auto [to, sender] = addresses_of(packet);
    if (is_of_this_link(to)) {
        ++from.counters.unroutable;
        return drop(packet, "a group that ends at the first bridge", at);
    }
    if (!is_group(sender) && !ways_.contains(number_of(sender)) && learned_.size() < most_learned)
        learned_[number_of(sender)] = static_cast<std::uint8_t>(ingress);
    const auto egress = is_group(to) ? 0 : way_of(to, packet);
    if (egress == 0)
        flood(ingress, packet, at + config_.latency);
    else if (!is_port(egress) || egress == ingress) {
        ++from.counters.unroutable;
        if (egress < ports_.size())
            ++ports_[egress].counters.no_link;
        drop(packet, "no way to the MAC", at);
    } else {
        ++from.counters.forwarded;
        forward(ingress, egress, packet, at + config_.latency);
    }
    update_pause(ingress, at);
}

/// A damaged frame goes no further (IEEE 802.3 4.2.4.1.2).
bool EthernetSwitch::is_whole(Port& from, port::Packet& packet, port::Time at) {
    if (packet.image.empty() || packet.is_plain_frame())
        return true;
    if (const auto unpacked = wire::unpack(packet, port::Encapsulation::roce_v2_ipv4); !unpacked) {
        ++from.counters.damaged;
        drop(packet, wire::reason(unpacked.error()), at);
        return false;
    }
    packet.image.clear();
    return true;
}

/// The port by which a frame to this MAC leaves; 0: nobody knows.
unsigned EthernetSwitch::way_of(const port::MacAddress& mac, const port::Packet& packet) const {
    if (const auto found = ways_.find(number_of(mac)); found != ways_.end()) {
        const auto& ports = found->second;
        if (ports.empty())
            return static_cast<unsigned>(ports_.size()); // of no port
        return ports.size() == 1 ? ports.front() : ports[flow_of(packet, config_.seed) % ports.size()];
    }
    const auto found = learned_.find(number_of(mac));
    return found != learned_.end() ? found->second : 0;
}

void EthernetSwitch::flood(unsigned ingress, port::Packet& packet, port::Time at) {
    ++ports_[ingress].counters.flooded;
    if ((tree_ >> ingress & 1) == 0)
        return; // it has come by a cable that closes a circle
    for (unsigned egress = 1; egress < ports_.size(); ++egress)
        if (egress != ingress && tree_ >> egress & 1 && is_port(egress))
            forward(ingress, egress, packet, at);
}

void EthernetSwitch::forward(unsigned ingress, unsigned egress, port::Packet& packet, port::Time at) {
    auto &from = ports_[ingress], &to = ports_[egress];
    const auto priority = packet.is_plain_frame() ? 0 : port::priority_of(packet.path);
    SharedBuffer::Stay stay{.bytes = static_cast<std::uint32_t>(wire::frame_length(packet)),
                            .ingress = static_cast<std::uint8_t>(ingress),
                            .egress = static_cast<std::uint8_t>(egress),
                            .priority = static_cast<std::uint8_t>(priority)};
    if (config_.is_timed) {
        if (buffer_.admit(stay) == SharedBuffer::Where::nowhere) {
            ++from.counters.dropped;
            return drop(packet, "no room in the switch", at);
        }
        const bool can_be_marked = !packet.is_plain_frame() && (packet.path.traffic_class & abi::wire::ecn_mask) != 0;
        if (can_be_marked && buffer_.marks(egress, priority)) {
            packet.path.traffic_class |= abi::wire::ecn_is_marked;
            ++from.counters.marked;
        }
    }
    // Others of its own priority go first. Those of another one may be paused, and then nobody would call for this one.
    const bool has_to_wait = to.queues[priority].first != nullptr ||
                             to.out->is_paused(priority, at - config_.latency) ||
                             !to.out->can_send(at - config_.latency);
    has_to_wait ? keep(to, packet, stay, at) : send(to, packet, stay, at);
}

void EthernetSwitch::keep(Port& to, const port::Packet& packet, const SharedBuffer::Stay& stay, port::Time at) {
    if (free_ == nullptr) {
        constexpr std::size_t at_once = 64;
        auto& block = blocks_.emplace_back(std::make_unique<Waiting[]>(at_once));
        for (std::size_t i = 0; i < at_once; ++i)
            block[i].next = std::exchange(free_, &block[i]);
    }
    auto& slot = *std::exchange(free_, free_->next);
    slot.packet = packet;
    slot.at = at;
    slot.stay = stay;
    slot.next = nullptr;
    auto& queue = to.queues[stay.priority];
    (queue.first == nullptr ? queue.first : queue.last->next) = &slot;
    queue.last = &slot;
    ++to.waiting;
    ++waiting_;
}

/// The queue whose turn it is, of those that may send.
EthernetSwitch::Waiting* EthernetSwitch::next_of(Port& to, port::Time at) {
    for (unsigned i = 1; i <= SharedBuffer::priorities; ++i) {
        const auto priority = (to.last_priority + i) % SharedBuffer::priorities;
        auto& queue = to.queues[priority];
        if (queue.first == nullptr || to.out->is_paused(priority, at))
            continue;
        to.last_priority = priority;
        --to.waiting;
        --waiting_;
        return std::exchange(queue.first, queue.first->next);
    }
    return nullptr;
}

/// Port `to` takes frames again.
void EthernetSwitch::go_on(Port& to, port::Time at) {
    collect(at);
    while (to.waiting != 0 && to.out->can_send(at)) {
        auto* waiting = next_of(to, at);
        if (waiting == nullptr)
            return;
        send(to, waiting->packet, waiting->stay, std::max(at, waiting->at));
        free(*waiting);
    }
}

void EthernetSwitch::free(Waiting& waiting) {
    waiting.packet.payload.clear(); // what it was lent goes back now, and not only when the slot is used again
    waiting.next = std::exchange(free_, &waiting);
}

void EthernetSwitch::send(Port& to, const port::Packet& packet, const SharedBuffer::Stay& stay, port::Time at) {
    const traces::Cause cause(events_, packet.cause);
    const auto forwarded = events_.emit(at, traces::PacketForwarded{stay.ingress, stay.egress, 0});
    auto& copy = to.out->next();
    copy = packet;
    copy.cause = forwarded != 0 ? forwarded : packet.cause;
    const auto gone = to.out->send(at);
    if (!config_.is_timed)
        return;
    leaving_.push_back({gone, ++order_, stay});
    std::ranges::push_heap(leaving_, std::greater{});
    if (ports_[stay.ingress].paused != 0)
        clock_.wake_at(leaving_.front().gone);
}

/// What has left by `now` has no room any more, and senders that were paused for want of it go on.
void EthernetSwitch::collect(port::Time now) {
    while (!leaving_.empty() && leaving_.front().gone <= now) {
        std::ranges::pop_heap(leaving_, std::greater{});
        const auto stay = leaving_.back().stay;
        leaving_.pop_back();
        buffer_.release(stay);
    }
    for (unsigned number = 1; paused_ports_ != 0 && number < ports_.size(); ++number)
        if (ports_[number].paused != 0)
            update_pause(number, now);
    if (paused_ports_ != 0 && !leaving_.empty())
        clock_.wake_at(leaving_.front().gone);
}

void EthernetSwitch::wake(port::Time now) { collect(now); }

void EthernetSwitch::update_pause(unsigned ingress, port::Time at) {
    auto& port = ports_[ingress];
    const auto paused = config_.is_timed ? buffer_.paused(ingress) : 0;
    if (paused == port.paused || port.out == nullptr)
        return;
    paused_ports_ += (paused != 0) - (port.paused != 0);
    port.paused = static_cast<std::uint8_t>(paused);
    ++port.counters.pauses;
    port.out->pause(port.paused, at);
    if (paused != 0 && !leaving_.empty())
        clock_.wake_at(leaving_.front().gone);
}

void EthernetSwitch::Port::link_changed(bool is_up_now, port::Time at) {
    is_up = is_up_now;
    if (is_up)
        return;
    owner->paused_ports_ -= paused != 0;
    paused = 0; // whoever is plugged in next has not been asked
    owner->collect(at);
}

void EthernetSwitch::drop(const port::Packet& packet, traces::Reason why, port::Time at) {
    const traces::Cause cause(events_, packet.cause);
    if (packet.is_plain_frame())
        events_.emit(at, traces::FrameDropped{
                             .length = packet.payload.size(), .ethertype = wire::ethertype(packet), .reason = why});
    else
        events_.emit(at, traces::PacketDropped{packet.rdma().destination.value, packet.rdma().psn.value, why});
}

} // namespace model::net

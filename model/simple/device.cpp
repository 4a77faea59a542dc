#include "model/simple/device.h"

#include "abi/pcie/config_space.h"
#include "model/wire/parser.h"

#include <algorithm>
#include <bit>

namespace model::simple {

using abi::simple::Registers;
using port::Time;

namespace {

using namespace abi::simple;

template <abi::Name F> constexpr std::uint64_t offset_of = Registers::field<F>::offset;
constexpr std::uint64_t gid_begin = offset_of<"gid">, gid_end = gid_begin + Registers::field<"gid">::bytes;

SimpleConfig without_times(SimpleConfig config) {
    if (!config.timed)
        config.descriptor = config.packet = config.latency = config.command = Time{};
    return config;
}

} // namespace

pcie::FunctionConfig Device::function_config(const SimpleConfig& config) {
    pcie::FunctionConfig function;
    function.identity = {.vendor_id = vendor_id,
                         .device_id = device_id,
                         .class_code = config.is_ethernet ? abi::pcie::class_network_ethernet
                                                          : abi::pcie::class_network_infiniband};
    function.bars[0] = {.size = std::bit_ceil(doorbells_offset + (Doorbell::size << config.log_max_qp)),
                        .is_64bit = true};
    return function;
}

Device::Device(const SimpleConfig& config, const pcie::DevicePorts& ports, traces::Events events)
    : config_(without_times(config)), clock_(ports.clock), wire_(*ports.wires.front()), events_(events),
      memory_(ports.dma, config.pcie_reads), objects_(config), agenda_(ports.clock), ready_(agenda_),
      completions_(memory_, counters_, events_),
      transmitter_(config_, wire_, memory_, objects_.regions, counters_, events_),
      requester_(config_, memory_, objects_.regions, completions_, transmitter_, ready_, counters_, events_),
      responder_(memory_, objects_.regions, completions_, transmitter_, ready_, requester_, counters_, events_),
      commands_(config_, objects_, memory_, ready_, requester_),
      receiving_("receiving unit", 1, config_.packet, time::Order::in_order) {
    reset(Time{});
}

void Device::reset(Time) {
    ready_.clear();
    agenda_.clear();
    objects_.clear();
    answered_ = {};
    arguments_ = {};
    registers_ = {};
    registers_.view()
        .set<"identity">(identity)
        .set<"version">(interface_version)
        .set<"log_qps">(static_cast<std::uint8_t>(config_.log_max_qp))
        .set<"log_cqs">(static_cast<std::uint8_t>(config_.log_max_cq))
        .set<"log_regions">(static_cast<std::uint8_t>(config_.log_max_region))
        .set<"log_entries">(log_max_entries)
        .set<"log_message">(log_max_message)
        .set<"reads">(max_reads)
        .set<"is_infiniband">(!config_.is_ethernet)
        .set<"lid">(config_.is_ethernet ? std::uint16_t{0} : config_.lid)
        .set<"memory_bytes">(config_.memory_bytes)
        .set<"mac">(config_.mac);
}

port::DmaResult Device::bar_read(unsigned, std::uint64_t offset, std::span<std::byte> into, Time at) {
    std::ranges::fill(into, std::byte{});
    const bool is_busy = at < answered_.done;
    auto seen = registers_;
    seen.view()
        .set<"memory_free">(objects_.memory.free())
        .set<"is_busy">(is_busy)
        .set<"status">(is_busy ? Status::ok : answered_.status)
        .set<"result">(is_busy ? 0 : answered_.result);
    const auto copy = [&](std::span<const std::byte> from, std::uint64_t begin) {
        for (std::size_t i = 0; i < into.size(); ++i)
            if (const auto place = offset + i - begin; offset + i >= begin && place < from.size())
                into[i] = from[place];
    };
    copy(seen.bytes, 0);
    copy(arguments_, arguments_offset);
    return {port::DmaStatus::ok, at};
}

/// Only aligned writes of 4 or 8 bytes have an effect.
void Device::bar_write(unsigned, std::uint64_t offset, std::span<const std::byte> from, Time at) {
    const auto size = from.size();
    if ((size != 4 && size != 8) || offset % size != 0)
        return;
    const traces::Cause cause(events_, traces::Access::mmio_write);
    for (std::size_t done = 0; done != size; done += 4)
        write_register(offset + done, from.subspan(done, 4), at);
    pump(clock_.now());
}

void Device::write_register(std::uint64_t offset, std::span<const std::byte> from, Time at) {
    if (offset >= doorbells_offset)
        return ring(offset - doorbells_offset, abi::load<std::uint32_t, abi::Endian::little>(from.data()), at);
    if (offset >= arguments_offset && offset < arguments_offset + arguments_bytes)
        std::ranges::copy(from, arguments_.begin() + static_cast<std::ptrdiff_t>(offset - arguments_offset));
    else if (offset >= gid_begin && offset < gid_end)
        std::ranges::copy(from, registers_.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    else if (offset == offset_of<"command"> && at >= answered_.done) {
        const auto command = static_cast<Command>(abi::load<std::uint32_t, abi::Endian::little>(from.data()));
        answered_ = commands_.execute(command, arguments_, registers_.view().get<"gid">(), at);
        answered_.done = std::max(answered_.done, at) + config_.command;
    }
}

void Device::ring(std::uint64_t offset, std::uint32_t value, Time at) {
    const auto number = static_cast<std::uint32_t>(offset / Doorbell::size);
    auto* qp = objects_.queue_pairs.find(number);
    if (qp == nullptr) {
        events_.emit(at, traces::DoorbellIgnored{.number = number, .uar = 0, .reason = "no such queue pair"});
        ++counters_.bad_doorbells;
        return;
    }
    at += config_.latency;
    if (offset % Doorbell::size == Doorbell::field<"send">::offset)
        ring_send(*qp, value, at);
    else
        ring_receive(*qp, value, at);
}

void Device::ring_send(QueuePair& qp, std::uint32_t producer, Time at) {
    events_.emit(
        at, traces::DoorbellRung{.qpn = qp.number.value, .uar = 0, .producer = static_cast<std::uint16_t>(producer)});
    const auto filled = producer - qp.oldest;
    if (filled > qp.sends || filled < qp.producer - qp.oldest || qp.state == QpState::reset)
        return fail_doorbell(qp, at);
    qp.producer = producer;
    ready_.add_at(qp, at);
}

void Device::ring_receive(QueuePair& qp, std::uint32_t producer, Time at) {
    const auto filled = producer - qp.receive_completed;
    if (filled > qp.receives || filled < qp.receive_producer - qp.receive_completed)
        return fail_doorbell(qp, at);
    qp.receive_producer = producer;
    if (qp.state == QpState::error)
        return ready_.add_at(qp, at);
    responder_.fetch(qp, at);
}

/// What cannot be: nobody knows which descriptors are meant, so that none is carried out any more.
void Device::fail_doorbell(QueuePair& qp, Time at) {
    ++counters_.bad_doorbells;
    if (qp.state == QpState::ready)
        requester_.enter_error(qp, at);
}

void Device::wake(Time now) {
    agenda_.run(now, [&](const Agenda::Entry& entry) {
        auto* qp = objects_.queue_pairs.find(entry.qpn);
        if (qp == nullptr || qp->serial != entry.serial)
            return; // it has gone
        if (entry.what == Agenda::What::work)
            return ready_.come(*qp, entry.at);
        const traces::Cause cause(events_, traces::Access::timer);
        requester_.look_at_deadline(*qp, now);
    });
    pump(now);
}

void Device::accounts(std::vector<time::Account>& rows) const {
    rows.push_back(transmitter_.account());
    rows.push_back(memory_.account());
    rows.push_back(receiving_.account());
}

void Device::drop(const port::Packet& packet, traces::Reason reason, Time at) {
    ++counters_.packets_dropped;
    events_.emit(at, traces::PacketDropped{packet.rdma().destination.value, packet.rdma().psn.value, reason});
}

bool Device::is_for_this_port(const port::Packet& packet, Time at) {
    const auto& path = packet.path;
    const auto gid = registers_.view().get<"gid">();
    if (!config_.is_ethernet) {
        if (path.destination_lid != config_.lid)
            return drop(packet, "the LID of another port", at), false;
        if (path.has_grh && path.destination_gid != gid) // IBA 8.3
            return drop(packet, "the GID of another port", at), false;
        return true;
    }
    if (path.destination_mac != config_.mac)
        return drop(packet, "the MAC of another port", at), false;
    if (path.destination_gid != gid)
        return drop(packet, "the GID of another port", at), false;
    return true;
}

void Device::receive(port::Packet& packet, Time at) {
    traces::Cause cause(events_, traces::Access::packet, packet.cause);
    if (!packet.image.empty() || packet.is_plain_frame()) {
        const auto link = config_.is_ethernet ? port::Encapsulation::roce_v2_ipv4 : port::Encapsulation::infiniband;
        if (const auto unpacked = wire::unpack(packet, link); !unpacked)
            return drop(packet, wire::reason(unpacked.error()), at);
        if (packet.is_plain_frame()) {
            ++counters_.packets_dropped;
            return;
        }
    }
    if (!is_for_this_port(packet, at))
        return;
    const auto& head = packet.rdma();
    ++counters_.packets_received;
    if (events_.is_on())
        cause.becomes(events_.emit(at, traces::PacketReceived{head.destination.value, head.psn.value, head.opcode(),
                                                              static_cast<std::uint32_t>(packet.payload.size())}));
    auto* qp = objects_.queue_pairs.find(head.destination.value);
    if (qp == nullptr)
        return drop(packet, "no such queue pair", at);
    if (head.service != abi::wire::Service::rc)
        return drop(packet, "transport service of another kind of queue pair", at);
    if ((head.pkey & 0x7fff) != 0x7fff)
        return drop(packet, "P_Key mismatch", at);
    if (!packet.traits().is_valid())
        return drop(packet, "reserved operation", at);
    if (qp->state != QpState::ready)
        return drop(packet, "queue pair without a peer", at);
    const bool is_from_peer = config_.is_ethernet ? packet.path.source_gid == qp->path.destination_gid
                                                  : packet.path.source_lid == qp->path.destination_lid;
    if (!is_from_peer)
        return drop(packet, "not from the peer of this connection", at);
    const auto done = receiving_.use(at).done + config_.latency;
    using Kind = abi::wire::OperationTraits::Kind;
    switch (packet.traits().kind) {
    case Kind::acknowledge:
        if (!packet.traits().has_atomic_ack)
            requester_.acknowledge(*qp, head.psn, head.aeth.syndrome, head.aeth.msn, done);
        return;
    case Kind::read_response: return requester_.take_response(*qp, packet, done);
    default: return responder_.receive(*qp, packet, done);
    }
}

void Device::received_all(Time) { pump(clock_.now()); }
void Device::ready(Time) { pump(clock_.now()); }

void Device::pump(Time now) {
    if (is_pumping_)
        return; // whoever does that goes on
    is_pumping_ = true;
    while (!ready_.is_empty()) {
        if (const auto free = transmitter_.free_from(now); free > now) {
            agenda_.wake_at(free);
            break;
        }
        if (!transmitter_.has_room(now))
            break; // the cable calls when it has
        give_turn(ready_.take(), now);
    }
    is_pumping_ = false;
}

void Device::give_turn(QueuePair& qp, Time now) {
    if (!qp.answers.is_empty()) {
        if (const auto due = qp.answers.front().ready; due > now) {
            ready_.add_at(qp, due);
        } else {
            responder_.answer(qp, now);
            return ready_.add(qp);
        }
    }
    bool goes_on = false;
    if (qp.state == QpState::ready)
        goes_on = requester_.advance(qp, now);
    else if (qp.state == QpState::error)
        goes_on = requester_.flush(qp, now) || responder_.flush(qp, now);
    if (goes_on)
        ready_.add(qp);
}

} // namespace model::simple

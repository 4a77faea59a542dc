#include "platform/record/deeds.h"

#include "abi/prm/cqe.h"
#include "abi/prm/eqe.h"
#include "abi/wire/ethernet.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/ip.h"
#include "abi/wire/udp.h"

#include <algorithm>

namespace platform::record {

using namespace traces::codec;
using namespace abi::prm;
using abi::ConstView;
using traces::monitor::Area;
using traces::monitor::CommandWatch;
using traces::monitor::FunctionState;
using traces::monitor::Place;

namespace {

constexpr std::uint32_t no_queue = ~0u;
constexpr std::uint32_t default_mtu = 1024; ///< where no command has told one

void blank(std::span<std::byte> bytes, std::size_t at, std::size_t count) {
    std::ranges::fill(bytes.subspan(at, count), std::byte{});
}

/// Where the base transport header of an RDMA packet is, and where the ICRC ends. Nothing: it is none.
struct Transport {
    std::size_t begin, end;
};
std::optional<Transport> transport_of(InterfaceKind kind, std::span<const std::byte> frame) {
    namespace wire = abi::wire;
    Transport out{};
    if (kind == InterfaceKind::infiniband) {
        if (frame.size() < wire::Lrh::size + wire::vcrc_bytes)
            return std::nullopt;
        const ConstView<wire::Lrh> lrh(frame);
        const bool has_grh = lrh.get<"next_header">() == wire::LinkNextHeader::global;
        out = {wire::Lrh::size + (has_grh ? wire::Grh::size : 0), std::size_t{lrh.get<"length">()} * 4};
    } else {
        if (frame.size() < wire::Ethernet::size + wire::Ipv4::size)
            return std::nullopt;
        const auto datagram = frame.subspan(wire::Ethernet::size);
        const auto type = static_cast<wire::EtherType>(ConstView<wire::Ethernet>(frame).get<"type">());
        std::size_t ip = 0, length = 0, udp = 0;
        if (type == wire::EtherType::ipv4) {
            const ConstView<wire::Ipv4> view(datagram);
            ip = wire::Ipv4::size, length = view.get<"total_length">(), udp = view.get<"protocol">();
        } else if (type == wire::EtherType::ipv6 && datagram.size() >= wire::Ipv6::size) {
            const ConstView<wire::Ipv6> view(datagram);
            ip = wire::Ipv6::size, length = ip + view.get<"payload_length">(), udp = view.get<"next_header">();
        }
        if (udp != wire::ip_protocol_udp || datagram.size() < ip + wire::Udp::size ||
            ConstView<wire::Udp>(datagram.subspan(ip)).get<"destination_port">() != wire::roce_v2_port)
            return std::nullopt;
        out = {wire::Ethernet::size + ip + wire::Udp::size, wire::Ethernet::size + length};
    }
    if (out.end > frame.size() || out.end < out.begin + wire::Bth::size + wire::icrc_bytes)
        return std::nullopt;
    return out;
}

} // namespace

Deeds::Deeds(const DeviceInterfaces& interfaces) : interfaces_(interfaces) {
    for (const auto interface : interfaces.functions)
        functions_.emplace_back(interface, std::string());
}

InterfaceKind Deeds::port_kind(std::size_t port) const {
    return interfaces_.ports.at(port).encapsulation == model::port::Encapsulation::infiniband
               ? InterfaceKind::infiniband
               : InterfaceKind::ethernet;
}

// --- what is known ---

void Deeds::called(const Step& call, const Steps::BarPlace* bar) {
    if (!is_hca() || call.what == Step::What::frame)
        return;
    const auto clear = [](FunctionState& function) {
        function.clear([](auto, auto) {});
        function.commands().reset();
    };
    if (call.is(Direction::inbound, Signal::reset)) {
        if (call.place != 0)
            return clear(functions_.at(call.place));
        std::ranges::for_each(functions_, clear); // of function 0 it is one of the whole device
    } else if (call.what == Step::What::write && bar != nullptr && bar->bar == 0) {
        functions_.at(call.place).commands().register_written(bar->offset, call.bytes);
    }
}

void Deeds::has_read(std::size_t number, std::uint64_t address, std::span<const std::byte> bytes) {
    if (!is_hca())
        return;
    auto& commands = functions_.at(number).commands();
    commands.memory_read(address, bytes);
    // A structure may be read in pieces: it is known when the last one is there.
    auto& joined = joined_[number];
    if (joined.bytes.empty() || address != joined.address + joined.bytes.size() ||
        joined.bytes.size() + bytes.size() > CommandMailbox::size)
        joined = {address, {}};
    joined.bytes.insert(joined.bytes.end(), bytes.begin(),
                        bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), CommandMailbox::size)));
    const auto size = joined.bytes.size();
    if ((size == CommandMailbox::size || size == CommandQueueEntry::size) && size > bytes.size())
        commands.memory_read(joined.address, joined.bytes);
}

void Deeds::finished(std::size_t number, const CommandWatch::Done& done) {
    auto& function = functions_[number];
    function.apply(
        done, [](auto, auto) {}, [&](const traces::monitor::QueuePair& qp) { ++epochs_[qp.remote_qpn.value]; });
    if (done.opcode == Opcode::create_eq && done.out.size() >= CreateEqOut::size)
        if (const auto* eq = function.eq(ConstView<CreateEqOut>(done.out).get<"eq_number">()))
            vectors_[{number, eq->vector}] = eq->number.value;
}

std::uint32_t Deeds::queue_pair_of(const Step& frame) const {
    const auto packet = traces::monitor::read_packet(port_kind(frame.place), frame.bytes);
    return packet ? packet->destination_qp.value : 0;
}

// --- what is done ---

Deed Deeds::of(Step step, std::uint32_t queue_pair) {
    Deed deed;
    deed.step = std::move(step);
    deed.stream.place = deed.step.place;
    deed.whose = queue_pair != 0 ? Deed::Whose::queue_pair : Deed::Whose::nobody_known;
    deed.owner = queue_pair;
    if (deed.step.what == Step::What::write) {
        write(deed);
    } else if (deed.step.what == Step::What::frame) {
        frame(deed);
    } else if (deed.step.signal == Signal::interrupt) {
        deed.kind = DeedKind::interrupt;
        deed.stream.object = deed.step.told.number;
        deed.whose = is_hca() ? Deed::Whose::nobody_known : Deed::Whose::anybody;
        const auto queue = vectors_.find({deed.step.place, static_cast<std::uint16_t>(deed.step.told.number)});
        deed.owner = queue == vectors_.end() ? no_queue : queue->second;
    } else {
        deed.kind = DeedKind::turn;
        deed.stream.place = deed.step.told.port;
        deed.content = {static_cast<std::byte>(deed.step.told.value)};
    }
    deed.stream.kind = deed.kind;
    return deed;
}

void Deeds::write(Deed& deed) {
    deed.kind = DeedKind::bytes;
    const auto& step = deed.step;
    if (!is_hca())
        return;
    auto& function = functions_.at(step.place);
    if (const auto area = function.area(step.address))
        return entry(deed, function, area->second, area->second.ring_offset + (step.address - area->first));
    auto& commands = function.commands();
    const auto slot = commands.slot_of(step.address);
    if (!slot)
        return;
    deed.whose = Deed::Whose::command;
    deed.owner = *slot;
    // The queue begins with a page, and an entry ends with the byte that says whose it is.
    const auto offset = step.address % CommandQueueEntry::size;
    const bool is_hand_over = commands.is_entry(step.address) && offset <= status_own_offset &&
                              offset + step.bytes.size() > status_own_offset &&
                              (std::to_integer<unsigned>(step.bytes[status_own_offset - offset]) & 1) == 0;
    if (is_hand_over) {
        deed.kind = DeedKind::hand_over;
        deed.stream.object = *slot;
        deed.content = step.bytes;
    }
    if (const auto done = commands.memory_written(step.address, step.bytes))
        finished(step.place, *done);
}

/// An entry is there when its last byte is: that one says whose it is.
void Deeds::entry(Deed& deed, FunctionState& function, const Area& area, std::uint64_t offset) {
    const auto& bytes = deed.step.bytes;
    const auto end = offset + bytes.size();
    const auto* cq = area.place == Place::completion_queue ? function.cq(area.number) : nullptr;
    const auto size = cq != nullptr ? cq->entry_bytes : Eqe::size;
    if (bytes.size() < Cqe64::size || bytes.size() > size || end % size != 0)
        return;
    deed.content = bytes;
    const auto entry = std::span(deed.content).last(Cqe64::size);
    deed.slot = end - size;
    deed.stream.object = area.number;
    if (cq != nullptr) {
        const abi::View<Cqe64> cqe(entry);
        const auto opcode = cqe.get<"opcode">();
        deed.kind = DeedKind::completion;
        deed.is_odd_pass = cqe.get<"owner">() != 0;
        deed.whose = Deed::Whose::queue_pair;
        deed.owner = cqe.get<"qpn">();
        deed.stream.source = deed.owner;
        if (opcode != CqeOpcode::req_err && opcode != CqeOpcode::resp_err)
            cqe.set<"timestamp">(0);
        cqe.set<"owner">(0);
        cqe.set<"signature">(0);
        return;
    }
    const abi::View<Eqe> eqe(entry);
    deed.kind = DeedKind::event;
    deed.is_odd_pass = eqe.get<"owner">() != 0;
    const auto type = eqe.get<"event_type">();
    std::uint32_t source = 0;
    if (type == EventType::completion)
        source = event_data<CompletionEventData>(ConstView<Eqe>(entry)).get<"cqn">();
    else if (type == EventType::command)
        source = event_data<CommandEventData>(ConstView<Eqe>(entry)).get<"vector">();
    deed.whose = Deed::Whose::nobody_known;
    deed.owner = source;
    deed.stream.source = std::uint64_t{static_cast<std::uint8_t>(type)} << 32 | source;
    eqe.set<"owner">(0);
    eqe.set<"signature">(0);
}

void Deeds::frame(Deed& deed) {
    namespace wire = abi::wire;
    using Kind = wire::OperationTraits::Kind;
    deed.kind = DeedKind::frame;
    deed.content = deed.step.bytes;
    const auto kind = port_kind(deed.step.place);
    const auto packet = traces::monitor::read_packet(kind, deed.step.bytes);
    const auto place = transport_of(kind, deed.step.bytes);
    if (!packet || !place) {
        deed.stream.source = ~std::uint64_t{0};
        // A congestion notification is a packet without a number that anybody counts.
        if (place && wire::service_of(static_cast<std::uint8_t>(
                         ConstView<wire::Bth>(std::span<const std::byte>(deed.step.bytes).subspan(place->begin))
                             .get<"opcode">())) == wire::Service::cnp)
            deed.kind = DeedKind::notification;
        return;
    }
    const auto content = std::span(deed.content);
    if (packet->service == wire::Service::ud) {
        const auto deth = std::span<const std::byte>(content).subspan(place->begin + wire::Bth::size);
        deed.stream.source = std::uint64_t{1} << 63;
        deed.stream.object = ConstView<wire::Deth>(deth).get<"source_qp">();
        return;
    }
    const auto& traits = packet->traits();
    deed.has_psn = true;
    deed.is_request = traits.is_request();
    deed.psn = packet->psn;
    // A NAK names a packet that is still to come.
    const bool is_nak = traits.has_aeth && wire::kind_of(packet->syndrome) != wire::SyndromeKind::acknowledge;
    deed.end = packet->psn + (is_nak ? 0 : 1);
    const auto epoch = epochs_.find(packet->destination_qp.value);
    deed.stream.object =
        packet->destination_qp.value | (epoch == epochs_.end() ? 0 : std::uint64_t{epoch->second} << 32);
    std::uint64_t fold = 0;
    for (std::size_t i = 0; i < packet->destination.size(); ++i)
        fold = fold * 257 + std::to_integer<std::uint64_t>(packet->destination[i]);
    deed.stream.source = fold << 2 >> 1 | (deed.is_request ? 1 : 0);
    if (traits.kind == Kind::read_request) {
        auto mtu = default_mtu;
        for (const auto& function : functions_)
            if (const auto* qp =
                    function.qp_towards(packet->destination_qp, packet->destination, kind == InterfaceKind::infiniband);
                qp != nullptr && qp->mtu != 0)
                mtu = qp->mtu;
        deed.end = packet->psn + std::max(1u, (packet->length + mtu - 1) / mtu);
    }
    if (traits.has_aeth && !is_nak) {
        if (traits.kind == Kind::acknowledge && !traits.has_atomic_ack)
            deed.kind = DeedKind::acknowledgement;
        // Credits say how many receives were posted by then, which is time; and so is the ICRC over them.
        const abi::View<wire::Aeth> aeth(content.subspan(place->begin + wire::Bth::size, wire::Aeth::size));
        aeth.set<"syndrome">(0);
        blank(content, place->end - wire::icrc_bytes, wire::icrc_bytes);
        if (kind == InterfaceKind::infiniband)
            blank(content, content.size() - wire::vcrc_bytes, wire::vcrc_bytes);
    }
    deed.content.push_back(static_cast<std::byte>(packet->is_whole)); // what was blanked is right, or is not
}

} // namespace platform::record

#include "traces/monitor/observer.h"

#include "abi/wire/ethernet.h"
#include "traces/codec/layouts.h"
#include "traces/codec/signal.h"
#include "traces/monitor/tlp.h"

#include <algorithm>
#include <array>

namespace traces::monitor {

using namespace abi::prm;
using abi::ConstView;
using codec::RecordKind;

namespace {

/// More of one access is not put together: no structure that a driver makes is that long, and a trace may say anything.
constexpr std::size_t most_joined = 1 << 20;
/// Reads that nobody answers are forgotten then.
constexpr std::size_t most_reads = 4096;

/// Whether `name` is a part of `whole`, by full names: "host0.hca0.port1" of "host0.hca0".
bool is_part(std::string_view name, std::string_view whole) {
    return name == whole || (name.starts_with(whole) && name[whole.size()] == '.');
}

Place place_of(const FunctionState& function, std::uint64_t address) {
    if (const auto area = function.area(address))
        return area->second.place;
    return function.commands().has(address) ? Place::command_interface : Place::elsewhere;
}

At at_of(const codec::Record& record) { return {record.number, record.interface, record.mark.cause}; }

} // namespace

Observer::Observer(const codec::Head& head) {
    for (std::uint32_t i = 0; i < head.interfaces.size(); ++i)
        names_.push_back(head.interfaces[i].name);
    // The device of a part has the shortest of the names that begin its own.
    const auto device_of = [&](std::string_view name) {
        std::uint32_t best = 0;
        std::size_t length = SIZE_MAX;
        for (std::uint32_t i = 0; i < head.interfaces.size(); ++i)
            if (head.interfaces[i].kind == codec::InterfaceKind::pcie && is_part(name, names_[i]) &&
                names_[i].size() < length)
                best = i, length = names_[i].size();
        return best;
    };
    for (std::uint32_t i = 0; i < head.interfaces.size(); ++i) {
        const auto kind = head.interfaces[i].kind;
        if (kind == codec::InterfaceKind::pcie)
            links_.try_emplace(i, FunctionState(i, names_[i]), NvmeState(), device_of(names_[i]));
        else if (kind != codec::InterfaceKind::events)
            ports_[i] = {device_of(names_[i]), kind};
    }
}

std::span<const Fact> Observer::on(const codec::Record& record) {
    facts_.clear();
    if (const auto port = ports_.find(record.interface); port != ports_.end()) {
        frame(record, port->second);
        return facts_;
    }
    const auto found = links_.find(record.interface);
    if (found == links_.end())
        return facts_;
    auto& link = found->second;
    if (record.mark.kind == RecordKind::signal)
        signal(record, link);
    else if (read_completion_tlp(record.head))
        completion(record, link);
    else
        request(record, link);
    return facts_;
}

void Observer::request(const codec::Record& record, Link& link) {
    const auto tlp = read_memory_tlp(record.head);
    if (!tlp)
        return;
    const auto at = at_of(record);
    if (tlp->is_write) {
        const auto bytes = enabled(record.payload, tlp->address, tlp->length);
        if (record.mark.direction == Direction::inbound)
            software_writes(at, link, tlp->address, bytes);
        else
            device_writes(at, link, tlp->address, bytes);
        return;
    }
    if (record.mark.kind != RecordKind::continuation || !link.reads.contains(link.last_access)) {
        if (link.reads.size() >= most_reads)
            link.reads.erase(link.reads.begin());
        link.last_access = record.number;
        auto& read = link.reads[record.number];
        read.direction = record.mark.direction;
        read.address = tlp->address;
    }
    auto& read = link.reads[link.last_access];
    read.requests.push_back({record.number, tlp->address, tlp->length, tlp->requester, tlp->tag});
    say(ReadAsked{at, record.mark.direction, link.last_access, tlp->address, tlp->length, tlp->requester, tlp->tag});
}

void Observer::completion(const codec::Record& record, Link& link) {
    const auto tlp = *read_completion_tlp(record.head);
    const auto at = at_of(record);
    auto found = link.reads.find(record.mark.cause);
    if (found == link.reads.end() || found->second.direction == record.mark.direction) {
        say(ReadAnswered{at, 0, 0, tlp.tag, false});
        return;
    }
    auto& read = found->second;
    const auto access = found->first;
    const auto request = read.requests.front();
    read.requests.pop_front();
    const bool is_error = tlp.status != abi::pcie::CompletionStatus::success;
    const bool is_last = is_error || read.requests.empty();
    if (!is_error && read.bytes.size() < most_joined) {
        const auto bytes = enabled(record.payload, request.address, request.length);
        read.bytes.insert(read.bytes.end(), bytes.begin(), bytes.end());
    }
    say(ReadAnswered{at, access, request.record, tlp.tag, is_last});
    if (!is_last)
        return;
    if (!is_error && read.direction == Direction::outbound)
        device_has_read(at, link, access, read);
    else if (const auto place = link.function.in_bar(read.address); !is_error && place && place->bar == 0)
        link.nvme.software_read(place->offset, read.bytes);
    link.reads.erase(found);
}

void Observer::device_has_read(const At& at, Link& link, std::uint64_t access, Read& read) {
    bytes_ = std::move(read.bytes);
    auto& function = link.function;
    function.commands().memory_read(read.address, bytes_);
    const auto place = place_of(function, read.address);
    say(MemoryRead{at, access, read.address, bytes_, place});
    link.nvme.device_read(at, read.address, bytes_, [this](Fact fact) { facts_.push_back(std::move(fact)); });
    if (place == Place::send_queue)
        work_read(at, function, *function.area(read.address), read.address);
    const auto* qp = function.qp_of_record(read.address);
    if (qp == nullptr)
        return;
    // Either half of the record, or all of it.
    for (std::size_t offset = 0; offset + 4 <= bytes_.size() && offset < QpDoorbellRecord::size; offset += 4) {
        const bool is_send = read.address + offset != qp->doorbell_record;
        if (!is_send && !qp->has_own_receives)
            continue;
        const auto counter = abi::load<std::uint32_t, abi::Endian::big>(bytes_.data() + offset);
        say(Posted{at, *qp, is_send, static_cast<std::uint16_t>(counter)});
    }
}

/// What a read of a send queue brings (bytes_): whole work requests, of which the last one may go on in another read.
void Observer::work_read(const At& at, FunctionState& function, const std::pair<std::uint64_t, Area>& area,
                         std::uint64_t address) {
    constexpr std::size_t umr_bytes = WqeCtrl::size + WqeUmrCtrl::size + Mkc::size;
    auto* qp = function.qp(area.second.number);
    if (qp == nullptr)
        return;
    const auto ring = qp->send_ring_bytes;
    auto offset = area.second.ring_offset + (address - area.first);
    work_ = offset == qp->begun_end ? std::move(qp->begun) : std::vector<std::byte>();
    offset += ring - work_.size();
    qp->begun.clear();
    work_.insert(work_.end(), bytes_.begin(), bytes_.end());
    const Bytes all(work_);
    for (std::size_t i = 0; i + wqe_bb_bytes <= all.size();) {
        const ConstView<WqeCtrl> control(all.subspan(i));
        const auto index = control.get<"wqe_index">();
        // What stands in no place of its own was never posted, or is the inside of something else.
        if (control.get<"qpn">() != qp->number.value || index * wqe_bb_bytes % ring != (offset + i) % ring) {
            i += wqe_bb_bytes;
            continue;
        }
        const auto wanted = std::max<std::size_t>(control.get<"ds">() * wqe_ds_bytes, 1);
        if (control.get<"opcode">() == WqeOpcode::umr && wanted >= umr_bytes) {
            if (all.size() - i < umr_bytes) {
                const auto rest = all.subspan(i);
                qp->begun.assign(rest.begin(), rest.end());
                qp->begun_end = (offset + all.size()) % ring;
                return;
            }
            say(UmrFetched{at, *qp, static_cast<std::uint16_t>(index), control.get<"imm">() >> 8,
                           ConstView<WqeUmrCtrl>(all.subspan(i + WqeCtrl::size)),
                           ConstView<Mkc>(all.subspan(i + WqeCtrl::size + WqeUmrCtrl::size))});
        }
        i += (wanted + wqe_bb_bytes - 1) / wqe_bb_bytes * wqe_bb_bytes;
    }
}

void Observer::device_writes(const At& at, Link& link, std::uint64_t address, Bytes bytes) {
    auto& function = link.function;
    say(MemoryWritten{at, address, bytes, place_of(function, address)});
    link.nvme.device_wrote(at, address, bytes, [this](Fact fact) { facts_.push_back(std::move(fact)); });
    if (const auto area = function.area(address))
        entry_written(at, function, area->second, area->second.ring_offset + (address - area->first), bytes);
    else if (auto done = function.commands().memory_written(address, bytes))
        command_done(at, function, std::move(*done));
}

/// An entry is there when its last byte is: that one says whose it is.
void Observer::entry_written(const At& at, FunctionState& function, const Area& area, std::uint64_t offset,
                             Bytes bytes) {
    const auto end = offset + bytes.size();
    if (bytes.size() < 64)
        return;
    const auto entry = bytes.last(64);
    if (area.place == Place::event_queue) {
        auto* eq = function.eq(area.number);
        if (eq == nullptr || end % Eqe::size != 0)
            return;
        ++eq->producer;
        const ConstView<Eqe> eqe(entry);
        const bool is_completion = eqe.get<"event_type">() == EventType::completion;
        const auto cqn = event_data<CompletionEventData>(eqe).get<"cqn">();
        say(EqeWritten{at, *eq, eqe, is_completion ? function.cq(cqn) : nullptr});
    } else {
        auto* cq = function.cq(area.number);
        if (cq == nullptr || end % cq->entry_bytes != 0)
            return;
        ++cq->producer;
        say(CqeWritten{at, *cq, ConstView<Cqe64>(entry)});
    }
}

void Observer::command_done(const At& at, FunctionState& function, CommandWatch::Done done) {
    command_ = std::move(done);
    say(CommandDone{at, command_.opcode, command_.in, command_.out});
    function.apply(
        command_, [&](ObjectKind kind, std::uint32_t number) { say(ObjectGone{at, kind, number}); },
        [&](const QueuePair& qp) { say(QpConnected{at, qp}); });
}

void Observer::software_writes(const At& at, Link& link, std::uint64_t address, Bytes bytes) {
    auto& function = link.function;
    const auto place = function.in_bar(address);
    if (!place || place->bar != 0)
        return;
    link.nvme.software_wrote(at, place->offset, bytes, [this](Fact fact) { facts_.push_back(std::move(fact)); });
    if (link.nvme.is_on())
        return;
    function.commands().register_written(place->offset, bytes);
    const auto page = static_cast<std::uint32_t>(place->offset / uar_page_bytes);
    auto offset = place->offset % uar_page_bytes;
    // Of a WQE in a BlueFlame buffer only the beginning is a doorbell.
    const bool is_send = offset >= uar_bfreg && offset % bf_buffer_bytes < SendDoorbell::size;
    // Processors with 32 bits ring in two stores, and the second one counts.
    std::array<std::byte, 8> joined{};
    if (bytes.size() == joined.size() / 2 && (is_send || offset / 8 == uar_cq_doorbell / 8)) {
        if (offset % joined.size() == 0) {
            std::ranges::copy(bytes, function.half_of(place->offset).begin());
            return;
        }
        offset -= bytes.size();
        std::ranges::copy(function.half_of(place->offset - bytes.size()), joined.begin());
        std::ranges::copy(bytes, joined.begin() + joined.size() / 2);
        bytes = joined;
    }
    if (offset == uar_cq_doorbell && bytes.size() >= CqDoorbell::size) {
        const ConstView<CqDoorbell> bell(bytes);
        if (const auto* cq = function.cq(bell.get<"cqn">()); cq != nullptr && cq->uar_page == page)
            say(CqArmed{at, *cq, bell.get<"ci">(), bell.get<"cmd">() == ArmCommand::solicited});
    } else if ((offset == uar_eq_arm || offset == uar_eq_update) && bytes.size() >= EqDoorbell::size) {
        const ConstView<EqDoorbell> bell(bytes);
        if (const auto* eq = function.eq(bell.get<"eqn">()); eq != nullptr && eq->uar_page == page)
            say(EqRung{at, *eq, bell.get<"ci">(), offset == uar_eq_arm});
    } else if (is_send && bytes.size() >= SendDoorbell::size) {
        const ConstView<SendDoorbell> bell(bytes);
        const auto* qp = function.qp(bell.get<"qpn">());
        if (qp == nullptr || qp->uar_page != page)
            return;
        const auto blocks = (bell.get<"ds">() * wqe_ds_bytes + wqe_bb_bytes - 1) / wqe_bb_bytes;
        say(Posted{at, *qp, true,
                   static_cast<std::uint16_t>(bell.get<"wqe_index">() + std::max<std::size_t>(1, blocks))});
    }
}

void Observer::forget(const At& at, Link& link) {
    auto& function = link.function;
    link.nvme.clear(at, [this](Fact fact) { facts_.push_back(std::move(fact)); });
    function.clear([&](ObjectKind kind, std::uint32_t number) { say(ObjectGone{at, kind, number}); });
    function.commands().reset();
    say(FunctionReset{at});
}

void Observer::signal(const codec::Record& record, Link& link) {
    const ConstView<codec::SignalRecord> view(record.head);
    const auto at = at_of(record);
    switch (static_cast<codec::Signal>(view.get<"code">())) {
    case codec::Signal::bar_address: link.function.bar_is_at(view.get<"number">(), view.get<"value">()); return;
    case codec::Signal::interrupt: {
        const auto vector = static_cast<std::uint16_t>(view.get<"number">());
        say(Interrupted{at, vector, link.function.knows_queues_of(vector), link.nvme.knows_queues_of(vector)});
        return;
    }
    case codec::Signal::reset:
        // Of function 0 it is one of the whole device.
        for (auto& [number, other] : links_)
            if (number == record.interface || (link.device == record.interface && other.device == record.interface))
                forget(at, other);
        return;
    case codec::Signal::no_answer:
        if (const auto read = link.reads.find(link.last_access); read != link.reads.end()) {
            say(ReadAnswered{at, read->first, read->second.requests.front().record, 0, true});
            link.reads.erase(read);
        }
        return;
    default: return;
    }
}

/// Whether a frame of Ethernet is to somebody else, whom a bit that the cable has turned has made up: no checksum
/// covers the addresses of a frame, so the port drops it by them.
bool Observer::is_elsewhere(const codec::Record& record, Port& port) {
    if (port.kind != codec::InterfaceKind::ethernet)
        return false;
    constexpr std::byte group{1};
    const abi::ConstView<abi::wire::Ethernet> ethernet(record.head); // which read_packet has found there
    if (record.mark.direction == Direction::outbound)
        port.mac = ethernet.get<"source">();
    const auto destination = ethernet.get<"destination">();
    return record.mark.direction == Direction::inbound && port.mac && destination != *port.mac &&
           (destination[0] & group) == std::byte{};
}

void Observer::frame(const codec::Record& record, Port& port) {
    packet_ = read_packet(port.kind, record.head);
    if (!packet_ || is_elsewhere(record, port))
        return;
    const bool is_infiniband = port.kind == codec::InterfaceKind::infiniband;
    const bool is_inbound = record.mark.direction == Direction::inbound;
    const QueuePair* qp = nullptr;
    unsigned owners = 0;
    for (auto& [number, link] : links_) {
        if (link.device != port.device)
            continue;
        auto& function = link.function;
        const auto* one = is_inbound
                              ? function.qp(packet_->destination_qp.value)
                              : function.qp_towards(packet_->destination_qp, packet_->destination, is_infiniband);
        owners += one != nullptr;
        qp = owners == 1 && one != nullptr ? one : qp;
    }
    if (owners > 1) // the same number in several functions: whose it is, only their addresses tell
        qp = nullptr;
    say(PacketSeen{at_of(record), record.mark.direction, *packet_, qp});
}

} // namespace traces::monitor

#include "platform/record/objects.h"

#include "abi/prm/command.h"
#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/eqe.h"
#include "abi/prm/mkey.h"
#include "abi/prm/qp.h"
#include "abi/prm/wqe.h"
#include "platform/record/packets.h"
#include "traces/codec/layouts.h"
#include "traces/codec/signal.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace platform::record {

using namespace traces::codec;
namespace prm = abi::prm;
namespace tool = traces::tool;

namespace {

using Kind = ObjectNumbers::Kind;
using Bits = ObjectNumbers::Bits;

/// Rows of commands that name an object.
struct Row {
    std::string_view name;
    Kind kind;
};
constexpr std::array rows{Row{"eq_number", Kind::event_queue},
                          Row{"c_eqn_or_apu_element", Kind::event_queue},
                          Row{"cqn", Kind::completion_queue},
                          Row{"cqn_snd", Kind::completion_queue},
                          Row{"cqn_rcv", Kind::completion_queue},
                          Row{"qpn", Kind::queue_pair},
                          Row{"pd", Kind::domain},
                          Row{"mkey_index", Kind::key},
                          Row{"uid", Kind::user_context},
                          Row{"counter_set_id", Kind::counter_set}};

/// Commands that make one.
struct Maker {
    prm::Opcode opcode;
    Kind kind;
};
constexpr std::array makers{Maker{prm::Opcode::create_eq, Kind::event_queue},
                            Maker{prm::Opcode::create_cq, Kind::completion_queue},
                            Maker{prm::Opcode::create_qp, Kind::queue_pair},
                            Maker{prm::Opcode::alloc_pd, Kind::domain},
                            Maker{prm::Opcode::create_mkey, Kind::key},
                            Maker{prm::Opcode::create_uctx, Kind::user_context},
                            Maker{prm::Opcode::alloc_q_counter, Kind::counter_set}};

constexpr std::size_t inline_bytes = prm::CommandIn::size;
constexpr unsigned key_low = 8; ///< of a key: below it is what software has chosen

/// Each row of a layout that names an object: of what kind, where in the command, which bits.
void each_row(const abi::LayoutInfo& layout, std::size_t begin, const auto& visit) {
    for (const auto& row : layout.rows) {
        const auto& field = row.field;
        if (row.nested != nullptr) {
            each_row(*row.nested, begin + field.offset, visit);
            continue;
        }
        const auto found = std::ranges::find(rows, field.name, &Row::name);
        if (found == rows.end() || field.bytes != sizeof(std::uint32_t))
            continue;
        const bool has_bits = field.kind == abi::FieldKind::bits;
        visit(found->kind, begin + field.offset,
              Bits{has_bits ? field.low : 0, has_bits ? field.high - field.low + 1 : 32});
    }
}

std::uint32_t dword(std::span<const std::byte> bytes, std::size_t offset) {
    return abi::load<std::uint32_t, abi::Endian::big>(bytes.data() + offset);
}

} // namespace

// --- what records are ---

std::optional<std::size_t> ObjectNumbers::find(std::uint32_t interface, Kind kind, std::uint32_t number) const {
    const auto found = known_.find({interface, kind, number});
    return found == known_.end() ? std::nullopt : std::optional(found->second);
}

/// The object whose number stands there, if it is known.
void ObjectNumbers::name(std::size_t at, Kind kind, std::size_t offset, Bits bits) {
    const auto& entry = store_.entries()[at];
    if (offset + sizeof(std::uint32_t) > entry.payload_bytes)
        return;
    const auto value = dword(store_.payload_of(entry), offset) >> bits.low & (~0u >> (32 - bits.count));
    if (const auto object = find(entry.interface, kind, value))
        names_[at].push_back({*object, offset, bits});
}

void ObjectNumbers::take(std::size_t at, const tool::Seen& seen) {
    const auto& record = store_.entries()[at];
    if (std::exchange(gate_, record.mark.gate) != record.mark.gate) {
        event_.reset();
        is_written_ = true;
    }
    if (record.mark.kind == RecordKind::signal && record.head_bytes == SignalRecord::size)
        return signal(at, static_cast<Signal>(abi::ConstView<SignalRecord>(store_.head_of(record)).get<"code">()));
    if (seen.command != nullptr)
        return command(at, seen);
    for (const auto& item : seen.items) {
        // What is put together of several records is not one payload.
        const bool is_whole = seen.access && seen.access->bytes.size() == record.payload_bytes;
        const auto begin = is_whole && !item.bytes.empty()
                               ? static_cast<std::size_t>(item.bytes.data() - seen.access->bytes.data())
                               : 0;
        switch (item.what) {
        case tool::What::eq_doorbell:
            name(at, Kind::event_queue, 0, {.low = 24, .count = 8});
            happens_in(at, item.eqn);
            break;
        case tool::What::cq_doorbell:
            if (item.is_arming)
                asked_[{record.interface, item.cqn}].push_back({at, false});
            if (record.payload_bytes == prm::CqDoorbell::size) // in one store
                name(at, Kind::completion_queue, 4, {.low = 0, .count = 24});
            break;
        case tool::What::send_doorbell:
            if (record.payload_bytes == prm::SendDoorbell::size)
                name(at, Kind::queue_pair, 4, {.low = 8, .count = 24});
            break;
        case tool::What::frame:
            if (record.mark.direction == Direction::inbound && item.qpn != tool::no_number)
                for (const auto& [key, object] : known_)
                    if (std::get<Kind>(key) == Kind::queue_pair && std::get<2>(key) == item.qpn)
                        names_[at].push_back({.object = object});
            break;
        case tool::What::send_wqe:
        case tool::What::receive_wqe:
            if (is_whole)
                work(at, item, begin);
            break;
        case tool::What::cqe:
        case tool::What::eqe:
            if (is_whole)
                entry(at, item, begin);
            break;
        default: break;
        }
    }
}

/// Interrupts and ends of writes are those of the entry before them; after a reset, numbers begin again.
void ObjectNumbers::signal(std::size_t at, Signal code) {
    if (code == Signal::reset)
        return forget(store_.entries()[at].interface);
    const bool is_end = code == Signal::written && !std::exchange(is_written_, true);
    if (event_ && (is_end || code == Signal::interrupt))
        needs_[at] = *event_;
}

/// An entry of an event queue, or a doorbell: what follows in this call is its.
void ObjectNumbers::happens_in(std::size_t at, std::uint32_t eqn) {
    const auto queue = find(store_.entries()[at].interface, Kind::event_queue, eqn);
    event_.reset();
    if (!queue)
        return;
    event_ = at;
    needs_[at] = objects_[*queue].made;
}

void ObjectNumbers::forget(std::uint32_t interface) {
    std::erase_if(known_, [&](const auto& one) { return std::get<0>(one.first) == interface; });
    std::erase_if(series_of_, [&](const auto& one) { return one.first.first == interface; });
}

void ObjectNumbers::command(std::size_t at, const tool::Seen& seen) {
    using Entry = prm::CommandQueueEntry;
    const auto& record = store_.entries()[at];
    const auto& command = *seen.command;
    auto& slot = slots_[{record.interface, command.slot}];
    switch (seen.what()) {
    case tool::What::command_entry:
        slot = {.input = inline_bytes};
        if (record.payload_bytes == Entry::size)
            input(at, command, 0, Entry::field<"input">::offset);
        break;
    case tool::What::command_part:
        if (record.mark.direction == Direction::outbound)
            slot.answer = record.payload_bytes == inline_bytes ? at : slot.answer;
        else if (const auto before = std::exchange(slot.input, command.in.size()); before != command.in.size())
            input(at, command, before, 0);
        break;
    case tool::What::command_done: made(at, command, slot.answer); break;
    default: break;
    }
}

/// A part of a command's input, from `begin` on, which stands at `place` in the payload.
void ObjectNumbers::input(std::size_t at, const tool::Command& command, std::size_t begin, std::size_t place) {
    if (begin == 0)
        name(at, Kind::user_context, place, {.low = 0, .count = 16});
    if (const auto* layout = tool::layouts_of(command.opcode()).in)
        each_row(*layout, 0, [&](Kind kind, std::size_t offset, Bits bits) {
            if (offset >= begin && offset < command.in.size())
                name(at, kind, offset - begin + place, bits);
        });
}

/// A command has ended: there may be a new object.
void ObjectNumbers::made(std::size_t at, const tool::Command& command, std::size_t answer) {
    const auto interface = store_.entries()[at].interface;
    const auto opcode = command.opcode();
    if (!command.is_good())
        return;
    if (opcode == prm::Opcode::disable_hca || opcode == prm::Opcode::teardown_hca)
        return forget(interface);
    const auto maker = std::ranges::find(makers, opcode, &Maker::opcode);
    const auto* layout = tool::layouts_of(opcode).out;
    if (maker == makers.end() || layout == nullptr || answer == 0)
        return;
    each_row(*layout, 0, [&](Kind kind, std::size_t offset, Bits bits) {
        if (kind != maker->kind || offset + sizeof(std::uint32_t) > inline_bytes)
            return;
        const auto number = dword(command.out, offset) >> bits.low & (~0u >> (32 - bits.count));
        known_[{interface, kind, number}] = objects_.size();
        const auto [series, is_new] = series_of_.try_emplace({interface, kind}, series_.size());
        if (is_new)
            series_.emplace_back();
        series_[series->second].push_back(objects_.size());
        const auto service = tool::input(command, "st");
        objects_.push_back({.number = number,
                            .now = number,
                            .made = at,
                            .has_plain_work = service == static_cast<std::uint64_t>(prm::QpType::rc) ||
                                              service == static_cast<std::uint64_t>(prm::QpType::uc)});
        name(answer, kind, offset, bits);
    });
}

/// The keys of its pieces, and what a UMR changes.
void ObjectNumbers::work(std::size_t at, const tool::Item& item, std::size_t begin) {
    using enum prm::WqeOpcode;
    const auto interface = store_.entries()[at].interface;
    const auto queue = find(interface, Kind::queue_pair, item.qpn);
    if (!queue)
        return;
    constexpr Bits key{.low = key_low, .count = 24};
    std::size_t offset = 0;
    if (item.what == tool::What::send_wqe) {
        name(at, Kind::queue_pair, begin + prm::WqeCtrl::field<"qpn">::offset, {.low = 8, .count = 24});
        offset = prm::WqeCtrl::size;
        const auto opcode = static_cast<prm::WqeOpcode>(item.opcode);
        if (opcode == umr) {
            const bool is_inline = item.bytes.size() > offset && (item.bytes[offset] & std::byte{0x80}) != std::byte{};
            name(at, Kind::key, begin + prm::WqeCtrl::field<"imm">::offset, key);
            offset += prm::WqeUmrCtrl::size;
            name(at, Kind::domain, begin + offset + prm::Mkc::field<"pd">::offset, {.low = 0, .count = 24});
            offset += prm::Mkc::size;
            if (is_inline)
                return;
        } else if (!objects_[*queue].has_plain_work) {
            return;
        } else if (opcode == atomic_cs || opcode == atomic_fa) {
            offset += prm::WqeRaddr::size + prm::WqeAtomic::size;
        } else if (opcode == rdma_write || opcode == rdma_write_imm || opcode == rdma_read) {
            offset += prm::WqeRaddr::size;
        }
    }
    for (; offset + prm::WqeData::size <= item.bytes.size(); offset += prm::WqeData::size) {
        if (abi::ConstView<prm::WqeData>(item.bytes.subspan(offset)).get<"inline">() != 0)
            return; // what follows is the message itself
        name(at, Kind::key, begin + offset + prm::WqeData::field<"lkey">::offset, key);
    }
}

/// Of a completion or event queue.
void ObjectNumbers::entry(std::size_t at, const tool::Item& item, std::size_t begin) {
    const auto interface = store_.entries()[at].interface;
    if (item.what == tool::What::cqe) {
        name(at, Kind::queue_pair, begin + prm::Cqe64::field<"qpn">::offset, {.low = 0, .count = 24});
        if (const auto names = names_.find(at); names != names_.end())
            names->second.back().signature = begin + prm::cqe_signature_offset;
        return;
    }
    happens_in(at, item.eqn);
    is_written_ = false;
    if (item.cqn == tool::no_number)
        return;
    name(at, Kind::completion_queue, begin + prm::eqe_data_offset + prm::CompletionEventData::field<"cqn">::offset,
         {.low = 0, .count = 24});
    asked_[{interface, item.cqn}].push_back({at, true});
}

// --- a shorter life ---

void ObjectNumbers::choose(const std::function<bool(std::size_t)>& is_kept) {
    for (const auto& series : series_) {
        auto next = series.begin();
        for (const auto one : series) {
            auto& object = objects_[one];
            object.now = is_kept(object.made) ? objects_[*next++].number : object.number;
        }
    }
    gone_.clear();
    for (const auto& [queue, steps] : asked_) {
        bool is_asked = false;
        for (const auto& [at, is_event] : steps)
            if (!is_kept(at))
                continue;
            else if (!is_event)
                is_asked = true;
            else if (!std::exchange(is_asked, false))
                gone_.insert(at);
    }
    for (const auto& [at, need] : needs_)
        if (!is_kept(need) || gone_.contains(need))
            gone_.insert(at);
}

bool ObjectNumbers::edit(std::size_t at, RecordStore::Edited& edited) const {
    const auto found = names_.find(at);
    if (found == names_.end())
        return false;
    bool is_other = false;
    const auto& record = store_.entries()[at];
    for (const auto& one : found->second) {
        const auto& object = objects_[one.object];
        if (object.now == object.number)
            continue;
        if (record.mark.kind == RecordKind::frame) {
            const bool is_infiniband = store_.head().interfaces[record.interface].kind == InterfaceKind::infiniband;
            is_other |= change(edited.head, is_infiniband,
                               [&](model::port::Packet& packet) { packet.rdma().destination = abi::Qpn{object.now}; });
            continue;
        }
        if (one.offset + sizeof(std::uint32_t) > edited.payload.size())
            continue;
        const auto was = dword(edited.payload, one.offset);
        const auto mask = ~0u >> (32 - one.bits.count) << one.bits.low;
        const auto now = (was & ~mask) | (object.now << one.bits.low & mask);
        abi::store<std::uint32_t, abi::Endian::big>(edited.payload.data() + one.offset, now);
        auto sum = was ^ now;
        sum ^= sum >> 16;
        if (one.signature)
            edited.payload[*one.signature] ^= static_cast<std::byte>(sum ^ sum >> 8);
        is_other = true;
    }
    return is_other;
}

} // namespace platform::record

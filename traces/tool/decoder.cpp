#include "traces/tool/decoder.h"

#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/eqe.h"
#include "abi/prm/init_segment.h"
#include "traces/codec/layouts.h"
#include "traces/codec/signal.h"

#include <algorithm>
#include <utility>

namespace traces::tool {

using namespace codec;
using namespace abi::prm;

namespace {

constexpr auto names = std::to_array<std::pair<What, std::string_view>>({
    {What::other, "other"},
    {What::register_access, "register"},
    {What::command_doorbell, "command-doorbell"},
    {What::send_doorbell, "doorbell"},
    {What::cq_doorbell, "cq-doorbell"},
    {What::eq_doorbell, "eq-doorbell"},
    {What::command_entry, "command-entry"},
    {What::command_part, "command-part"},
    {What::command_done, "command"},
    {What::send_wqe, "wqe"},
    {What::receive_wqe, "receive-wqe"},
    {What::doorbell_record, "doorbell-record"},
    {What::cqe, "cqe"},
    {What::eqe, "eqe"},
    {What::interrupt, "interrupt"},
    {What::signal, "signal"},
    {What::frame, "frame"},
    {What::event, "event"},
});

/// Members of events that are numbers of objects.
struct NumberOf {
    std::string_view label;
    std::uint32_t Item::* number;
};
constexpr std::array numbers{NumberOf{"qpn", &Item::qpn}, NumberOf{"cqn", &Item::cqn}, NumberOf{"eqn", &Item::eqn}};
constexpr std::array<std::string_view, 1> key_labels{"key"};

/// UAR pages begin behind the initialization segment; which one is the first is the device's choice.
constexpr std::uint64_t user_pages = (InitialSegment::size + uar_page_bytes - 1) / uar_page_bytes * uar_page_bytes;
/// First halves of doorbells that may wait for their second ones.
constexpr std::size_t most_halves = 65536;

template <class L> std::uint32_t load_at(std::span<const std::byte> bytes) {
    return abi::load<std::uint32_t, L::endian>(bytes.data());
}

} // namespace

std::string_view name(What what) {
    return std::ranges::find(names, what, &std::pair<What, std::string_view>::first)->second;
}
std::optional<What> what_named(std::string_view name) {
    const auto found = std::ranges::find(names, name, &std::pair<What, std::string_view>::second);
    return found != names.end() ? std::optional(found->first) : std::nullopt;
}

const Item* Seen::find(What what) const {
    const auto found = std::ranges::find(items, what, &Item::what);
    return found != items.end() ? &*found : nullptr;
}

void Decoder::Function::forget_objects() {
    areas.clear();
    umems.clear(), transports.clear(), peers.clear(), vectors.clear(), halves.clear();
}

std::optional<std::uint32_t> Decoder::queue_of_vector(std::uint32_t interface, std::uint32_t vector) const {
    const auto& vectors = functions_.at(interface).vectors;
    const auto found = vectors.find(vector);
    return found != vectors.end() ? std::optional(found->second) : std::nullopt;
}
std::optional<std::uint32_t> Decoder::peer(std::uint32_t interface, std::uint32_t qpn) const {
    const auto& peers = functions_.at(interface).peers;
    const auto found = peers.find(qpn);
    return found != peers.end() ? std::optional(found->second) : std::nullopt;
}

Decoder::Call& Decoder::call(std::uint64_t record) { return calls_[record % calls_.size()]; }

const Seen& Decoder::take(const Record& record) {
    seen_.access.reset();
    seen_.items.clear();
    seen_.keys.clear();
    seen_.qpn = no_number;
    seen_.command = nullptr;
    seen_.event.reset();
    switch (record.mark.kind) {
    case RecordKind::signal: signal(record); break;
    case RecordKind::frame: frame(record); break;
    case RecordKind::event: event(record); break;
    default:
        seen_.access = accesses_.take(record);
        auto& function = functions_[record.interface];
        if (seen_.access && !seen_.access->is_by_device)
            software(function);
        else if (seen_.access && seen_.access->kind == Access::Kind::answer)
            device_reads(function, record);
        else if (seen_.access && seen_.access->kind == Access::Kind::write)
            device_writes(function);
    }
    // What a record says itself holds for the call it belongs to; else the call says whose work it is.
    for (const auto& item : seen_.items)
        if (seen_.qpn == no_number)
            seen_.qpn = item.qpn;
    const bool is_call = record.mark.cause == 0;
    auto begun = is_call ? record.number : record.mark.cause;
    if (seen_.access && seen_.access->request != 0 && seen_.access->is_by_device)
        begun = seen_.access->request; // its answer's mark names the request
    auto& of = call(begun);
    if (of.record != begun)
        of = {begun, no_number};
    if (record.mark.kind == RecordKind::frame && record.mark.direction == Direction::outbound)
        seen_.qpn = no_number; // the number in it is the peer's
    if (seen_.qpn == no_number)
        seen_.qpn = of.qpn;
    else
        of.qpn = seen_.qpn;
    return seen_;
}

void Decoder::signal(const Record& record) {
    if (record.head.size() < SignalRecord::size)
        return;
    const abi::ConstView<SignalRecord> view(record.head);
    auto& function = functions_[record.interface];
    const auto code = static_cast<Signal>(view.get<"code">());
    Item item{.what = What::signal, .layout = &abi::layout_info<SignalRecord>, .bytes = record.head};
    item.number = view.get<"number">();
    if (code == Signal::interrupt) {
        item.what = What::interrupt;
        item.eqn = queue_of_vector(record.interface, item.number).value_or(no_number);
    } else if (code == Signal::bar_address) {
        function.bars[item.number] = view.get<"value">();
    } else if (code == Signal::reset) {
        function.forget_objects();
        function.commands.reset();
    }
    seen_.items.push_back(item);
}

void Decoder::software(Function& function) {
    const auto& access = *seen_.access;
    // The BAR that the address is in: the last one that begins before it.
    std::optional<std::pair<std::uint32_t, std::uint64_t>> bar;
    for (const auto& [number, begin] : function.bars)
        if (begin <= access.address && (!bar || begin >= bar->second))
            bar = {number, begin};
    const auto offset = bar ? access.address - bar->second : access.address;
    if (bar && bar->first == 0 && access.kind == Access::Kind::write && offset >= user_pages)
        return user_page(function, offset);
    // Registers are in BAR 0 of each kind of device; what another one has is memory, or the device's own matter.
    if (bar && bar->first != 0)
        return seen_.items.push_back({.what = What::other, .number = bar->first});
    seen_.items.push_back({.what = What::register_access, .number = static_cast<std::uint32_t>(offset)});
    if (bar && bar->first == 0 && access.kind == Access::Kind::write)
        init_segment(function, offset);
}

void Decoder::init_segment(Function& function, std::uint64_t offset) {
    using Vector = InitialSegment::field<"command_doorbell_vector">;
    const auto bytes = seen_.access->bytes;
    function.commands.register_written(offset, bytes);
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4)
        if (offset + at == Vector::offset)
            seen_.items.front() = {.what = What::command_doorbell,
                                   .number = load_at<InitialSegment>(bytes.subspan(at))};
}

void Decoder::user_page(Function& function, std::uint64_t offset) {
    const auto bytes = seen_.access->bytes;
    const auto in_page = static_cast<std::uint32_t>(offset % uar_page_bytes);
    // A WQE may follow its doorbell into a BlueFlame buffer.
    const bool is_send = in_page >= uar_bfreg && (in_page & ~7u) % bf_buffer_bytes == 0;
    const bool is_pair = (in_page & ~7u) == uar_cq_doorbell || is_send;
    if (bytes.size() >= 8 && is_pair && in_page % 8 == 0)
        return doorbell(in_page, bytes.first<8>());
    if (bytes.size() == 4 && (in_page == uar_eq_arm || in_page == uar_eq_update)) {
        const abi::ConstView<EqDoorbell> view(bytes);
        seen_.items.push_back({.what = What::eq_doorbell,
                               .layout = &abi::layout_info<EqDoorbell>,
                               .bytes = bytes,
                               .eqn = view.get<"eqn">(),
                               .index = view.get<"ci">(),
                               .is_arming = in_page == uar_eq_arm});
        return;
    }
    if (bytes.size() == 4 && is_pair) {
        const auto start = offset & ~std::uint64_t{7};
        if (offset == start) {
            if (function.halves.size() == most_halves)
                function.halves.clear();
            function.halves[start] = load_at<SendDoorbell>(bytes);
        } else if (const auto first = function.halves.find(start); first != function.halves.end()) {
            abi::store<std::uint32_t, abi::Endian::big>(joined_.data(), first->second);
            std::ranges::copy(bytes, joined_.begin() + 4);
            function.halves.erase(first);
            return doorbell(in_page & ~7u, joined_);
        }
    }
    seen_.items.push_back({.what = What::register_access, .number = static_cast<std::uint32_t>(offset)});
}

void Decoder::doorbell(std::uint32_t offset, std::span<const std::byte, 8> value) {
    if (offset == uar_cq_doorbell) {
        const abi::ConstView<CqDoorbell> view(value);
        seen_.items.push_back({.what = What::cq_doorbell,
                               .layout = &abi::layout_info<CqDoorbell>,
                               .bytes = value,
                               .cqn = view.get<"cqn">(),
                               .index = view.get<"ci">(),
                               .is_arming = true});
        return;
    }
    const abi::ConstView<SendDoorbell> view(value);
    seen_.items.push_back({.what = What::send_doorbell,
                           .layout = &abi::layout_info<SendDoorbell>,
                           .bytes = value,
                           .qpn = view.get<"qpn">(),
                           .index = view.get<"wqe_index">(),
                           .opcode = static_cast<std::uint8_t>(view.get<"opcode">())});
}

void Decoder::device_reads(Function& function, const Record& record) {
    const auto& access = *seen_.access;
    if (const auto part = function.commands.memory_read(access.address, access.bytes, record.time_ps)) {
        seen_.command = part->command;
        const bool is_entry = part->part == CommandReader::Part::entry;
        seen_.items.push_back(
            {.what = is_entry ? What::command_entry : What::command_part, .number = part->command->slot});
        return;
    }
    const auto area = function.areas.at(access.address);
    if (!area)
        return;
    if (area->kind == AreaKind::send_queue) {
        send_queue(function, *area);
    } else if (area->kind == AreaKind::receive_queue) {
        Item item{.what = What::receive_wqe, .bytes = access.bytes, .qpn = area->number};
        item.index = static_cast<std::uint32_t>(area->offset / area->stride);
        seen_.items.push_back(item);
    } else if (access.bytes.size() >= 4 &&
               (area->kind == AreaKind::queue_record || area->kind == AreaKind::cq_record)) {
        Item item{.what = What::doorbell_record, .number = load_at<QpDoorbellRecord>(access.bytes)};
        item.index = static_cast<std::uint32_t>(area->offset);
        (area->kind == AreaKind::queue_record ? item.qpn : item.cqn) = area->number;
        seen_.items.push_back(item);
    }
}

void Decoder::device_writes(Function& function) {
    const auto& access = *seen_.access;
    if (const auto part = function.commands.memory_written(access.address, access.bytes)) {
        seen_.command = part->command;
        const bool is_done = part->part == CommandReader::Part::hand_over;
        seen_.items.push_back(
            {.what = is_done ? What::command_done : What::command_part, .number = part->command->slot});
        if (is_done)
            finished(function, *part->command);
        return;
    }
    if (const auto area = function.areas.at(access.address))
        entries(*area);
}

void Decoder::entries(const Area& area) {
    const bool is_cqe = area.kind == AreaKind::completion_queue;
    if (!is_cqe && area.kind != AreaKind::event_queue)
        return;
    const auto bytes = seen_.access->bytes;
    // In an entry of 128 bytes the CQE64 is the second half.
    auto at = (area.stride - Cqe64::size + area.stride - area.offset % area.stride) % area.stride;
    for (; at + Cqe64::size <= bytes.size(); at += area.stride) {
        const auto entry = bytes.subspan(at, Cqe64::size);
        Item item{.bytes = entry};
        if (is_cqe) {
            const abi::ConstView<Cqe64> cqe(entry);
            const bool is_error =
                cqe.get<"opcode">() == CqeOpcode::req_err || cqe.get<"opcode">() == CqeOpcode::resp_err;
            item.what = What::cqe;
            item.layout = is_error ? &abi::layout_info<ErrCqe> : &abi::layout_info<Cqe64>;
            item.cqn = area.number;
            item.qpn = cqe.get<"qpn">();
            item.index = cqe.get<"wqe_counter">();
            item.opcode = static_cast<std::uint8_t>(cqe.get<"opcode">());
        } else {
            const abi::ConstView<Eqe> eqe(entry);
            item.what = What::eqe;
            item.layout = &abi::layout_info<Eqe>;
            item.eqn = area.number;
            item.opcode = static_cast<std::uint8_t>(eqe.get<"event_type">());
            if (eqe.get<"event_type">() == EventType::completion)
                item.cqn = event_data<CompletionEventData>(eqe).get<"cqn">();
        }
        seen_.items.push_back(item);
    }
}

void Decoder::event(const Record& record) {
    Item item{.what = What::event, .bytes = record.head};
    seen_.event = read_event(record.head, record.time_ps);
    if (seen_.event)
        std::visit(
            [&](const auto& event) {
                std::apply(
                    [&](const auto&... member) {
                        const auto look = [&](std::string_view label, auto pointer) {
                            if constexpr (requires { std::uint32_t{event.*pointer}; }) {
                                const auto found = std::ranges::find(numbers, label, &NumberOf::label);
                                if (found != numbers.end())
                                    item.*found->number = event.*pointer;
                                else if (std::ranges::find(key_labels, label) != key_labels.end())
                                    seen_.keys.push_back(event.*pointer);
                            }
                        };
                        (look(member.name, member.pointer), ...);
                    },
                    std::remove_cvref_t<decltype(event)>::members);
            },
            seen_.event->event);
    seen_.items.push_back(item);
}

} // namespace traces::tool

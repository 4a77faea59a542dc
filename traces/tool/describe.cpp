#include "traces/tool/describe.h"

#include "abi/prm/cqe.h"
#include "abi/prm/eqe.h"
#include "abi/prm/wqe.h"
#include "abi/wire/opcode.h"
#include "traces/codec/layouts.h"
#include "traces/codec/signal.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <type_traits>

namespace traces::tool {

using namespace codec;
using namespace abi::prm;

namespace {

/// A time that a signal has; a device that wants none says the last one there is.
std::string told_time(std::uint64_t value) {
    constexpr auto last = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value >= last)
        return value == last ? "never" : fmt::format("{:#x} ps, which is no time", value);
    auto text = time_text(static_cast<std::int64_t>(value));
    return text.starts_with(' ') ? text.substr(1) : text;
}

std::string signal_text(Signal signal, unsigned port, std::uint32_t number, std::uint64_t value) {
    const auto at_port = fmt::format("port {}", port + 1); // as interfaces count them
    const auto state = value == 0 ? "off" : "on";
    constexpr std::uint64_t low_half = 0xffff'ffff;
    switch (signal) {
    case Signal::wake: return "the time has come that it asked for";
    case Signal::reset: return "reset";
    case Signal::page_answer: return fmt::format("answer to page requests, group {}: code {}", number, value);
    case Signal::settle: return "it may deliver what it has sent to itself";
    case Signal::batch_end: return fmt::format("no more packets at {} for now", at_port);
    case Signal::link: return fmt::format("the other end of the cable at {} goes {}", at_port, state);
    case Signal::room: return fmt::format("{} takes packets again", at_port);
    case Signal::cannot_take: return fmt::format("it takes no packets at {} now", at_port);
    case Signal::space_read: return fmt::format("read of register {:#x} of space {}", value, number);
    case Signal::space_write:
        return fmt::format("write of {:#x} to register {:#x} of space {}", value >> 32, value & low_half, number);
    case Signal::interrupt: return fmt::format("interrupt {}", number);
    case Signal::wake_at: return fmt::format("it asks to be woken: {}", told_time(value));
    case Signal::settled: return value == 0 ? "there was nothing to deliver" : "delivered";
    case Signal::turn: return fmt::format("its end of the cable at {} goes {}", at_port, state);
    case Signal::space_value: return number == 0 ? "there is no such register" : fmt::format("it holds {:#x}", value);
    case Signal::bar_address: return fmt::format("BAR {} is at {:#x}", number, value);
    case Signal::time: return fmt::format("its clock says {}", told_time(value));
    case Signal::written:
        return number == 0 ? fmt::format("the write is done: {}", told_time(value))
                           : fmt::format("the write was not sent, status {}: {}", number, told_time(value));
    case Signal::no_answer: return fmt::format("no answer to the read: {}", told_time(value));
    case Signal::cannot_send: return fmt::format("{} takes no packets now", at_port);
    case Signal::sent: return fmt::format("the frame is out at {}: {}", at_port, told_time(value));
    case Signal::turned: return fmt::format("the link at {} is {}", at_port, value == 0 ? "down" : "up");
    case Signal::traffic: return fmt::format("{} frames sent at {} so far", value, at_port);
    case Signal::traffic_bytes: return fmt::format("{} bytes sent at {} so far", value, at_port);
    case Signal::discarded: return fmt::format("{} frames discarded at {} so far", value, at_port);
    case Signal::waited: return fmt::format("{} has waited {} ps for room so far", at_port, value);
    case Signal::tangled: return "a call has ended while a later one has not";
    case Signal::cannot_read: return fmt::format("its next read could leave: {}", told_time(value));
    }
    return fmt::format("a signal of no known code: port {}, number {}, value {:#x}", port, number, value);
}

/// A name where the number has one, else the number.
std::string named_or(std::string_view name, unsigned number) {
    return name.empty() ? fmt::format("{:#x}", number) : std::string(name);
}

/// What a row of an event's table has: a member, or a function that follows from others.
template <class E, class P> std::string value_text(const E& event, P pointer) {
    const auto value = [&] {
        if constexpr (std::is_member_function_pointer_v<P>)
            return (event.*pointer)();
        else
            return event.*pointer;
    }();
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::string_view>)
        return fmt::format("\"{}\"", value);
    else if constexpr (requires { value.text(); })
        return fmt::format("\"{}\"", value.text());
    else if constexpr (std::is_same_v<T, bool>)
        return value ? "true" : "false";
    else
        return fmt::format("{:#x}", value);
}

std::string event_text(const EventRecord& record, const codec::Head& head) {
    std::string text;
    std::visit(
        [&]<class E>(const E& event) {
            text = E::name;
            std::apply(
                [&](const auto&... member) {
                    ((text += fmt::format(" {}={}", member.name, value_text(event, member.pointer))), ...);
                },
                E::members);
        },
        record.event);
    const auto source = record.stamp.source;
    return source < head.names.size() ? fmt::format("{}: {}", head.names[source], text) : text;
}

std::string access_text(const Access& access) {
    constexpr std::array by_device{"DMA write", "DMA read", "answer to its DMA read", "refusal of its DMA read"};
    constexpr std::array by_software{"store", "load", "answer to a load", "refusal of a load"};
    const auto kind = static_cast<std::size_t>(access.kind);
    auto text = fmt::format("{} of {} bytes at {:#x}", access.is_by_device ? by_device[kind] : by_software[kind],
                            access.length, access.address);
    if (access.kind == Access::Kind::refusal)
        text += fmt::format(", completion status {}", access.status);
    return text;
}

/// The bytes of a short access.
std::string value_bytes(const Access& access) {
    if (access.bytes.empty() || access.bytes.size() > 8)
        return {};
    std::string text = " =";
    for (const auto byte : access.bytes)
        text += fmt::format(" {:02x}", std::to_integer<unsigned>(byte));
    return text;
}

std::string item_text(const Item& item, const Seen& seen) {
    switch (item.what) {
    case What::other: return fmt::format("in BAR {}", item.number);
    case What::register_access: return fmt::format("register {:#x}{}", item.number, value_bytes(*seen.access));
    case What::command_doorbell: return fmt::format("command doorbell, slots {:#x}", item.number);
    case What::send_doorbell:
        return fmt::format("doorbell of QP {:#x}: WQE {} {}", item.qpn, item.index,
                           named_or(name(static_cast<WqeOpcode>(item.opcode)), item.opcode));
    case What::cq_doorbell: return fmt::format("CQ {:#x} armed, consumer {}", item.cqn, item.index);
    case What::eq_doorbell:
        return fmt::format("EQ {:#x} consumed up to {}{}", item.eqn, item.index, item.is_arming ? ", armed" : "");
    case What::command_entry: return fmt::format("entry of {}", command_text(*seen.command));
    case What::command_part: return fmt::format("part of {}", command_text(*seen.command));
    case What::command_done: return fmt::format("end of {}", command_text(*seen.command));
    case What::send_wqe:
        return fmt::format("WQE {} of QP {:#x}: {}, a WQE of {} bytes", item.index, item.qpn,
                           named_or(name(static_cast<WqeOpcode>(item.opcode)), item.opcode), item.bytes.size());
    case What::receive_wqe: return fmt::format("receive WQE {} of QP {:#x}", item.index, item.qpn);
    case What::doorbell_record:
        return item.qpn != no_number ? fmt::format("doorbell record of QP {:#x}: {} counter {}", item.qpn,
                                                   item.index == 0 ? "receive" : "send", item.number & 0xffff)
                                     : fmt::format("doorbell record of CQ {:#x}: {} {:#x}", item.cqn,
                                                   item.index == 0 ? "consumer" : "arm word", item.number);
    case What::cqe: {
        auto text = fmt::format("CQE in CQ {:#x}: QP {:#x}, {}, WQE {}", item.cqn, item.qpn,
                                named_or(name(static_cast<CqeOpcode>(item.opcode)), item.opcode), item.index);
        if (item.layout == &abi::layout_info<ErrCqe>) {
            const auto syndrome = abi::ConstView<ErrCqe>(item.bytes).get<"syndrome">();
            text += fmt::format(", {}", named_or(name(syndrome), static_cast<unsigned>(syndrome)));
        } else {
            text += fmt::format(", {} bytes", abi::ConstView<Cqe64>(item.bytes).get<"byte_cnt">());
        }
        return text;
    }
    case What::eqe: {
        auto text = fmt::format("EQE in EQ {:#x}: {}", item.eqn,
                                named_or(name(static_cast<EventType>(item.opcode)), item.opcode));
        return item.cqn != no_number ? fmt::format("{} in CQ {:#x}", text, item.cqn) : text;
    }
    case What::interrupt:
        return item.eqn != no_number ? fmt::format("interrupt {} of EQ {:#x}", item.number, item.eqn)
                                     : fmt::format("interrupt {}", item.number);
    case What::signal: {
        const abi::ConstView<SignalRecord> view(item.bytes);
        return signal_text(static_cast<Signal>(view.get<"code">()), view.get<"port">(), view.get<"number">(),
                           view.get<"value">());
    }
    case What::frame:
        if (item.layout == nullptr)
            return fmt::format("frame of {} bytes", item.bytes.size());
        return fmt::format("{} to QP {:#x}, PSN {:#x}",
                           named_or(abi::wire::operations[item.opcode & 0x1f].name, item.opcode), item.qpn,
                           item.number);
    case What::event: return "event of no known type";
    }
    return {};
}

} // namespace

std::string time_text(std::int64_t time_ps) {
    constexpr std::int64_t microsecond = 1'000'000, nanosecond = 1000;
    return fmt::format("{}.{:03}{}us", time_ps / microsecond, time_ps % microsecond / nanosecond,
                       time_ps % nanosecond != 0 ? fmt::format("'{:03} ", time_ps % nanosecond) : " ");
}

std::string command_text(const Command& command) {
    const auto opcode = command.opcode();
    auto text = fmt::format("{} in slot {}", named_or(name(opcode), static_cast<unsigned>(opcode)), command.slot);
    for (const auto* row : {"qpn", "cqn", "eq_number", "mkey_index", "umem_id", "pd", "uar"})
        if (const auto value = output(command, row).or_else([&] { return input(command, row); }); value && *value != 0)
            text += fmt::format(", {} {:#x}", row, *value);
    if (command.delivery != DeliveryStatus::ok)
        text += fmt::format(": not delivered, {}", name(command.delivery));
    else if (command.status() != Status::ok)
        text += fmt::format(": {}, syndrome {:#x}", name(command.status()), output(command, "syndrome").value_or(0));
    return text;
}

std::string what_text(const Record& record, const Seen& seen, const codec::Head& head) {
    if (seen.event)
        return event_text(*seen.event, head);
    std::string text;
    constexpr std::size_t most_items = 4;
    for (std::size_t i = 0; i < seen.items.size() && i < most_items; ++i)
        text.append(i == 0 ? "" : "; ").append(item_text(seen.items[i], seen));
    if (seen.items.size() > most_items)
        text += fmt::format("; {} more", seen.items.size() - most_items);
    if (!seen.access)
        return text.empty() ? fmt::format("a TLP of {} bytes", record.head.size() + record.payload.size()) : text;
    auto access = access_text(*seen.access);
    if (!text.empty())
        return fmt::format("{}: {}", access, text);
    return seen.qpn != no_number ? fmt::format("{}, for QP {:#x}", access, seen.qpn) : access;
}

std::string line_of(const Record& record, const Seen& seen, const codec::Head& head) {
    const auto way = record.mark.direction == Direction::inbound    ? "->"
                     : record.mark.direction == Direction::outbound ? "<-"
                                                                    : "  ";
    auto line = fmt::format("{:>8} {:>18} {} {} {}", record.number, time_text(record.time_ps),
                            head.interfaces[record.interface].name, way, what_text(record, seen, head));
    if (record.mark.cause != 0)
        line += fmt::format(" [{}]", record.mark.cause);
    return line;
}

std::vector<std::string> fields_of(const Seen& seen) {
    std::vector<std::string> lines;
    const auto print = [&](const abi::LayoutInfo* layout, std::span<const std::byte> bytes) {
        if (layout == nullptr || bytes.size() < layout->size)
            return;
        std::string fields;
        abi::print(fields, *layout, bytes, abi::PrintForm::line, abi::PrintZeros::no);
        lines.push_back(fmt::format("         {}: {}", layout->name, fields));
    };
    for (const auto& item : seen.items) {
        print(item.layout, item.bytes);
        if (item.what == What::command_done && seen.command != nullptr) {
            const auto layouts = layouts_of(seen.command->opcode());
            print(layouts.in, seen.command->in);
            print(layouts.out, seen.command->out);
        }
    }
    return lines;
}

} // namespace traces::tool

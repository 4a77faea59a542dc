#include "traces/tool/tally.h"

#include "abi/prm/cqe.h"
#include "abi/prm/opcodes.h"
#include "abi/prm/wqe.h"
#include "abi/wire/opcode.h"

#include <fmt/format.h>

#include <algorithm>

namespace traces::tool {

using namespace codec;

namespace {

std::string hex_or(std::string_view name, unsigned number) {
    return name.empty() ? fmt::format("{:#x}", number) : std::string(name);
}

/// Rows of a table. A trace may name queues without end; those beyond the first ones share a row.
constexpr std::size_t most_rows = 2048;
template <class T> T& row(std::map<std::string, T>& rows, std::string name) {
    const auto found = rows.find(name);
    if (found != rows.end())
        return found->second;
    return rows[rows.size() < most_rows ? std::move(name) : "all others together"];
}

} // namespace

void Traffic::add(std::int64_t time_ps, std::uint64_t more) {
    first_ps = count == 0 ? time_ps : std::min(first_ps, time_ps);
    last_ps = count == 0 ? time_ps : std::max(last_ps, time_ps);
    ++count;
    bytes += more;
}

void Tally::add(const Record& record, const Seen& seen, bool is_wanted) {
    const auto& news = board_.take(record, seen);
    if (!is_wanted)
        return;
    const auto& link = head_.interfaces[record.interface].name;
    const auto bytes = record.head.size() + record.payload.size();
    all_.add(record.time_ps, bytes);
    row(kinds_, std::string(name(seen.what()))).add(record.time_ps, bytes);
    if (seen.access)
        access(link, record, *seen.access);
    for (const auto& item : seen.items)
        one(link, record, seen, item);
    for (const auto& work : news.completed) {
        const auto opcode = hex_or(name(static_cast<abi::prm::WqeOpcode>(work.opcode)), work.opcode);
        if (work.fetched != 0)
            row(times_, fmt::format("WQE read to CQE, {}", opcode)).add(record.time_ps - work.fetched_ps);
        if (work.doorbell != 0)
            row(times_, fmt::format("doorbell to CQE, {} QP {:#x}", link, work.qpn))
                .add(record.time_ps - work.doorbell_ps);
    }
}

void Tally::access(const std::string& link, const Record& record, const Access& access) {
    const auto time = record.time_ps;
    const auto* const who = access.is_by_device ? "DMA" : "software's";
    switch (access.kind) {
    case Access::Kind::write: row(links_, fmt::format("{} {} writes", link, who)).add(time, access.length); break;
    case Access::Kind::read: row(links_, fmt::format("{} {} reads", link, who)).add(time, access.length); break;
    case Access::Kind::refusal: row(links_, fmt::format("{} {} refused reads", link, who)).add(time, 0); break;
    case Access::Kind::answer: break;
    }
    if (access.is_last)
        row(times_, fmt::format("{} read to its last completion, {}", who, link)).add(time - access.asked_ps);
}

void Tally::one(const std::string& link, const Record& record, const Seen& seen, const Item& item) {
    const auto time = record.time_ps;
    const auto size = item.bytes.size();
    switch (item.what) {
    case What::send_doorbell: row(queues_, fmt::format("{} QP {:#x} doorbells", link, item.qpn)).add(time, size); break;
    case What::receive_wqe:
        row(queues_, fmt::format("{} QP {:#x} receive WQEs", link, item.qpn)).add(time, size);
        break;
    case What::send_wqe:
        row(queues_, fmt::format("{} QP {:#x} WQEs", link, item.qpn)).add(time, size);
        row(opcodes_, "WQE " + hex_or(name(static_cast<abi::prm::WqeOpcode>(item.opcode)), item.opcode))
            .add(time, size);
        break;
    case What::cqe: {
        const auto bytes = item.layout == &abi::layout_info<abi::prm::ErrCqe>
                               ? 0
                               : abi::ConstView<abi::prm::Cqe64>(item.bytes).get<"byte_cnt">();
        row(queues_, fmt::format("{} CQ {:#x} CQEs", link, item.cqn)).add(time, bytes);
        row(opcodes_, "CQE " + hex_or(name(static_cast<abi::prm::CqeOpcode>(item.opcode)), item.opcode))
            .add(time, bytes);
        break;
    }
    case What::eqe: row(queues_, fmt::format("{} EQ {:#x} EQEs", link, item.eqn)).add(time, size); break;
    case What::interrupt: row(links_, fmt::format("{} interrupts", link)).add(time, 0); break;
    case What::frame: {
        const bool is_out = record.mark.direction == Direction::outbound;
        row(links_, fmt::format("{} frames {}", link, is_out ? "out" : "in")).add(time, record.head.size());
        if (item.layout != nullptr)
            row(opcodes_, fmt::format("BTH {}", hex_or(abi::wire::operations[item.opcode & 0x1f].name, item.opcode)))
                .add(time, record.head.size());
        break;
    }
    case What::command_done: {
        const auto opcode = seen.command->opcode();
        const auto label = hex_or(name(opcode), static_cast<unsigned>(opcode));
        row(opcodes_, "command " + label).add(time, seen.command->in_length + seen.command->out_length);
        row(times_, fmt::format("command, entry read to its end, {}", label)).add(time - seen.command->began_ps);
        break;
    }
    case What::event:
        if (seen.event)
            std::visit([&]<class E>(const E&) { row(opcodes_, "event " + std::string(E::name)).add(time, size); },
                       seen.event->event);
        break;
    default: break;
    }
}

} // namespace traces::tool

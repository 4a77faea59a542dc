#include "traces/tool/perfetto.h"

#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/eqe.h"
#include "abi/prm/opcodes.h"
#include "abi/prm/wqe.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/opcode.h"
#include "traces/tool/describe.h"
#include "traces/tool/flows.h"
#include "traces/tool/picture.h"
#include "traces/tool/rooms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace traces::tool {

using namespace codec;
using namespace abi::prm;

namespace {

constexpr auto counter_mask = abi::prm::queue_index_mask;
constexpr std::uint32_t most_entries = 1 << 22; ///< of a queue; more were never there

std::string name_or(std::string_view name, unsigned number) {
    return name.empty() ? fmt::format("{:#x}", number) : std::string(name);
}

/// The credit count of an AETH (IBA, "End-to-end flow control credit encoding"): 0, 1, 2, 3, 4, 6, 8, 12, 16, ...
std::int64_t credits_of(unsigned code) {
    if (code < 2)
        return code;
    return code % 2 == 0 ? std::int64_t{1} << code / 2 : std::int64_t{3} << (code - 3) / 2;
}

class Painter {
public:
    Painter(const codec::Head& head, const Posts& posts, Destination& destination)
        : picture_(head, destination), flows_(head), posts_(posts) {}

    void take(const Record& record, const Seen& seen, const Decoder& decoder) {
        const auto& flows = flows_.take(record, seen, decoder);
        const auto& news = flows_.board().news();
        last_ps_ = std::max(last_ps_, record.time_ps);
        for (const auto& work : news.completed)
            draw(work, record.time_ps, "");
        for (const auto& work : news.dropped)
            draw(work, record.time_ps, ", not completed");
        if (seen.access)
            access(record, *seen.access);
        for (const auto& item : seen.items)
            draw(record, seen, item, flows, decoder);
        for (const auto* works : {&news.fetched, &news.completed, &news.dropped})
            if (!works->empty()) {
                const auto& work = works->back();
                picture_.count({Shows::works_waiting, work.interface, work.qpn}, record.time_ps,
                               static_cast<std::int64_t>(flows_.board().depth(work.interface, work.qpn)));
            }
    }
    /// What is under way when the trace ends.
    void finish() {
        for (const auto& work : flows_.board().open())
            draw(work, last_ps_, ", not completed");
        picture_.file().flush();
    }
    bool is_good() const { return picture_.file().is_good(); }
    const std::string& failure() const { return picture_.file().failure(); }

private:
    void draw(const Work& work, std::int64_t end_ps, std::string_view how) {
        const std::array flow{flow_of(work)};
        const auto begin_ps = work.fetched != 0 ? work.fetched_ps : work.doorbell_ps;
        const auto opcode = name_or(name(static_cast<WqeOpcode>(work.opcode)), work.opcode);
        picture_.slice({Shows::works, work.interface, work.qpn}, begin_ps, std::max(begin_ps, end_ps),
                       fmt::format("{} {}{}", opcode, work.index, how),
                       std::span(flow).first(flow.front() != 0 ? 1 : 0));
    }

    void access(const Record& record, const Access& access) {
        const auto of = record.interface;
        const auto text = [&](std::string_view what, std::uint64_t bytes) {
            return fmt::format("{} {} bytes at {:#x}", what, bytes, access.address);
        };
        if (access.kind == Access::Kind::write)
            picture_.instant({access.is_by_device ? Shows::dma_writes : Shows::stores, of}, record.time_ps,
                             text("write", access.length));
        else if (access.is_last)
            picture_.slice(
                {access.is_by_device ? Shows::dma_reads : Shows::loads, of}, access.asked_ps,
                std::max(access.asked_ps, record.time_ps),
                text(access.kind == Access::Kind::refusal ? "refused read up to" : "read up to", access.length));
    }

    void draw(const Record& record, const Seen& seen, const Item& item, std::span<const Flow> flows,
              const Decoder& decoder) {
        const auto of = record.interface;
        const auto at = record.time_ps;
        switch (item.what) {
        case What::send_doorbell:
            picture_.instant({Shows::doorbells, of, item.qpn}, at, fmt::format("up to WQE {}", item.index),
                             posts_.of(record.number));
            break;
        case What::receive_wqe:
            picture_.instant({Shows::receive_wqes, of, item.qpn}, at, fmt::format("WQE {}", item.index));
            break;
        case What::cqe:
            picture_.instant({Shows::completion_queue, of, item.cqn}, at,
                             fmt::format("{} of QP {:#x}, WQE {}",
                                         name_or(name(static_cast<CqeOpcode>(item.opcode)), item.opcode), item.qpn,
                                         item.index),
                             flows);
            produced(Shows::completions_waiting, record, item.cqn);
            break;
        case What::eqe:
            picture_.instant({Shows::event_queue, of, item.eqn}, at,
                             name_or(name(static_cast<EventType>(item.opcode)), item.opcode), flows);
            produced(Shows::events_waiting, record, item.eqn);
            break;
        case What::interrupt:
            picture_.instant({Shows::interrupts, of}, at, fmt::format("vector {}", item.number), flows);
            break;
        case What::cq_doorbell: consumed(Shows::completions_waiting, record, item.cqn, item.index); break;
        case What::eq_doorbell: consumed(Shows::events_waiting, record, item.eqn, item.index); break;
        case What::doorbell_record:
            if (item.cqn != no_number && item.index == 0)
                consumed(Shows::completions_waiting, record, item.cqn, item.number & counter_mask);
            break;
        case What::command_done: {
            const auto& command = *seen.command;
            const auto opcode = name_or(name(command.opcode()), static_cast<unsigned>(command.opcode()));
            picture_.slice({Shows::commands, of}, command.began_ps, std::max(command.began_ps, at),
                           command.is_good() ? opcode : opcode + ", refused");
            forget(command, of, item);
            break;
        }
        case What::frame: frame(record, item, flows, decoder); break;
        case What::event:
            if (seen.event)
                event(record, *seen.event, flows);
            break;
        default: break;
        }
    }

    void frame(const Record& record, const Item& item, std::span<const Flow> flows, const Decoder& decoder) {
        const bool is_in = record.mark.direction == Direction::inbound;
        const TrackKey track{is_in ? Shows::frames_in : Shows::frames_out, record.interface};
        if (item.layout == nullptr)
            return picture_.instant(track, record.time_ps, fmt::format("{} bytes", item.bytes.size()));
        const auto& operation = abi::wire::operations[item.opcode & 0x1f];
        picture_.instant(
            track, record.time_ps,
            fmt::format("{} to QP {:#x}, PSN {:#x}", name_or(operation.name, item.opcode), item.qpn, item.number),
            flows);
        using namespace abi::wire;
        if (!is_in || !operation.has_aeth || item.bytes.size() < Bth::size + Aeth::size)
            return;
        const auto syndrome = abi::ConstView<Aeth>(item.bytes.subspan(Bth::size)).get<"syndrome">();
        const bool is_ack = (syndrome & ~std::uint32_t{no_credits}) == 0;
        if (!is_ack || syndrome == no_credits)
            return;
        for (const auto function : picture_.devices().all()[picture_.devices().of(record.interface)].functions)
            if (decoder.peer(function, item.qpn)) {
                picture_.count({Shows::credits, function, item.qpn}, record.time_ps, credits_of(syndrome));
                return;
            }
    }

    void event(const Record& record, const EventRecord& event, std::span<const Flow> flows) {
        const auto posted =
            std::holds_alternative<DoorbellRung>(event.event) ? posts_.of(record.mark.cause) : std::vector<Flow>{};
        if (!posted.empty())
            flows = posted;
        std::vector<PerfettoFile::Note> notes;
        const auto note = [&](std::string_view label, const auto& value) {
            using T = std::remove_cvref_t<decltype(value)>;
            if constexpr (std::is_same_v<T, std::string_view>)
                notes.push_back({.name = label, .text = value});
            else if constexpr (requires { value.text(); })
                notes.push_back({.name = label, .text = value.text()});
            else
                notes.push_back({.name = label, .number = static_cast<std::uint64_t>(value)});
        };
        std::visit(
            [&]<class E>(const E& said) {
                std::apply(
                    [&](const auto&... member) {
                        const auto read = [&](const auto& row) {
                            if constexpr (std::is_member_function_pointer_v<decltype(row.pointer)>)
                                note(row.name, (said.*row.pointer)());
                            else
                                note(row.name, said.*row.pointer);
                        };
                        (read(member), ...);
                    },
                    E::members);
                picture_.instant({Shows::room, event.stamp.source, static_cast<std::uint32_t>(room_of(event.event))},
                                 record.time_ps, E::name, flows, notes);
            },
            event.event);
    }

    // --- how many entries of a queue software has not consumed; known from the queue's creation on ---
    void produced(Shows counter, const Record& record, std::uint32_t queue) {
        auto& [made, used] = queues_[{counter, record.interface, queue}];
        ++made;
        tell(counter, record, queue, made - used);
    }
    void consumed(Shows counter, const Record& record, std::uint32_t queue, std::uint32_t index) {
        const auto found = queues_.find({counter, record.interface, queue});
        if (found == queues_.end())
            return;
        found->second.used = index;
        tell(counter, record, queue, found->second.made - index);
    }
    void tell(Shows counter, const Record& record, std::uint32_t queue, std::uint32_t waiting) {
        if (waiting &= counter_mask; waiting <= most_entries)
            picture_.count({counter, record.interface, queue}, record.time_ps, waiting);
    }
    void forget(const Command& command, std::uint32_t of, const Item& item) {
        if (command.opcode() == Opcode::destroy_cq)
            queues_.erase({Shows::completions_waiting, of, item.cqn});
        else if (command.opcode() == Opcode::destroy_eq)
            queues_.erase({Shows::events_waiting, of, item.eqn});
    }

    struct Counters {
        std::uint32_t made = 0, used = 0;
    };
    Picture picture_;
    Flows flows_;
    const Posts& posts_;
    std::map<TrackKey, Counters> queues_;
    std::int64_t last_ps_ = 0;
};

} // namespace

Outcome perfetto(const OpenTrace& open, Destination& destination) {
    Posts posts;
    {
        auto source = open();
        if (!source)
            return {.complaint = source.error()};
        Reader reader(**source);
        if (const auto opened = reader.open(); !opened)
            return outcome_of(reader, opened.error());
        WorkBoard board;
        // A fault comes again in the second pass.
        static_cast<void>(walk(reader, [&](const Record& record, const Seen& seen, const Decoder&) {
            posts.take(board.take(record, seen), record.number);
            return true;
        }));
        posts.sort();
    }
    auto source = open();
    if (!source)
        return {.complaint = source.error()};
    Reader reader(**source);
    if (const auto opened = reader.open(); !opened)
        return outcome_of(reader, opened.error());
    Painter painter(reader.head(), posts, destination);
    auto fault = walk(reader, [&](const Record& record, const Seen& seen, const Decoder& decoder) {
        painter.take(record, seen, decoder);
        return painter.is_good();
    });
    painter.finish();
    if (!painter.is_good())
        return {.complaint = painter.failure(), .is_output_lost = true};
    return outcome_of(reader, std::move(fault));
}

} // namespace traces::tool

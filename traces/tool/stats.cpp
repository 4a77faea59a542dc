#include "traces/tool/stats.h"

#include "abi/prm/cqe.h"
#include "abi/prm/opcodes.h"
#include "abi/prm/wqe.h"
#include "abi/wire/opcode.h"
#include "traces/tool/describe.h"
#include "traces/tool/histogram.h"
#include "traces/tool/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace traces::tool {

using namespace codec;

namespace {

struct Traffic {
    std::uint64_t count = 0, bytes = 0;
    std::int64_t first_ps = 0, last_ps = 0;
    void add(std::int64_t time_ps, std::uint64_t more) {
        first_ps = count == 0 ? time_ps : std::min(first_ps, time_ps);
        last_ps = count == 0 ? time_ps : std::max(last_ps, time_ps);
        ++count;
        bytes += more;
    }
    std::string text() const {
        auto text = fmt::format("{:>10} {:>14} B", count, bytes);
        // A rate between the first and the last one: of a single one there is none.
        if (last_ps > first_ps) {
            const auto seconds = static_cast<double>(last_ps - first_ps) * 1e-12;
            text += fmt::format(" {:>12.3f} Gbit/s {:>14.0f} /s", static_cast<double>(bytes) * 8e-9 / seconds,
                                static_cast<double>(count) / seconds);
        }
        return text;
    }
};

std::string hex_or(std::string_view name, unsigned number) {
    return name.empty() ? fmt::format("{:#x}", number) : std::string(name);
}

class Collector {
public:
    explicit Collector(const codec::Head& head) : head_(head) {}

    void add(const Record& record, const Seen& seen) {
        const auto& link = head_.interfaces[record.interface].name;
        if (seen.access)
            access(link, record, *seen.access);
        for (const auto& item : seen.items)
            one(link, record, seen, item);
        const auto& news = board_.take(record, seen);
        for (const auto& work : news.completed) {
            const auto opcode = hex_or(name(static_cast<abi::prm::WqeOpcode>(work.opcode)), work.opcode);
            times_[fmt::format("WQE read to CQE, {}", opcode)].add(record.time_ps - work.fetched_ps);
            if (work.doorbell != 0)
                times_[fmt::format("doorbell to CQE, {} QP {:#x}", link, work.qpn)].add(record.time_ps -
                                                                                        work.doorbell_ps);
        }
    }

    void print(Output& output) const {
        const auto table = [&](std::string_view title, const std::map<std::string, Traffic>& rows) {
            if (rows.empty())
                return;
            output.line(title);
            for (const auto& [what, traffic] : rows)
                output.line(fmt::format("  {:<44} {}", what, traffic.text()));
        };
        table("links", links_);
        table("queues", queues_);
        table("opcodes", opcodes_);
        if (!times_.empty())
            output.line(fmt::format("{:<46} {:>10} {:>12} {:>12} {:>12} {:>12} {:>12}", "times in ns", "count", "p50",
                                    "p90", "p99", "p99.9", "max"));
        for (const auto& [what, times] : times_) {
            const auto ns = [](std::int64_t ps) { return static_cast<double>(ps) / 1000; };
            output.line(fmt::format("  {:<44} {:>10} {:>12.3f} {:>12.3f} {:>12.3f} {:>12.3f} {:>12.3f}", what,
                                    times.count(), ns(times.percentile(50)), ns(times.percentile(90)),
                                    ns(times.percentile(99)), ns(times.percentile(99.9)), ns(times.most())));
        }
    }

private:
    void access(const std::string& link, const Record& record, const Access& access) {
        const auto time = record.time_ps;
        const auto* const who = access.is_by_device ? "DMA" : "software's";
        switch (access.kind) {
        case Access::Kind::write: links_[fmt::format("{} {} writes", link, who)].add(time, access.length); break;
        case Access::Kind::read: links_[fmt::format("{} {} reads", link, who)].add(time, access.length); break;
        case Access::Kind::refusal: links_[fmt::format("{} {} refused reads", link, who)].add(time, 0); break;
        case Access::Kind::answer: break;
        }
        if (access.is_last)
            times_[fmt::format("{} read to its last completion, {}", who, link)].add(time - access.asked_ps);
    }

    void one(const std::string& link, const Record& record, const Seen& seen, const Item& item) {
        const auto time = record.time_ps;
        const auto size = item.bytes.size();
        switch (item.what) {
        case What::send_doorbell: queues_[fmt::format("{} QP {:#x} doorbells", link, item.qpn)].add(time, size); break;
        case What::receive_wqe: queues_[fmt::format("{} QP {:#x} receive WQEs", link, item.qpn)].add(time, size); break;
        case What::send_wqe:
            queues_[fmt::format("{} QP {:#x} WQEs", link, item.qpn)].add(time, size);
            opcodes_["WQE " + hex_or(name(static_cast<abi::prm::WqeOpcode>(item.opcode)), item.opcode)].add(time, size);
            break;
        case What::cqe: {
            const auto bytes = item.layout == &abi::layout_info<abi::prm::ErrCqe>
                                   ? 0
                                   : abi::ConstView<abi::prm::Cqe64>(item.bytes).get<"byte_cnt">();
            queues_[fmt::format("{} CQ {:#x} CQEs", link, item.cqn)].add(time, bytes);
            opcodes_["CQE " + hex_or(name(static_cast<abi::prm::CqeOpcode>(item.opcode)), item.opcode)].add(time,
                                                                                                            bytes);
            break;
        }
        case What::eqe: queues_[fmt::format("{} EQ {:#x} EQEs", link, item.eqn)].add(time, size); break;
        case What::interrupt: links_[fmt::format("{} interrupts", link)].add(time, 0); break;
        case What::frame: {
            const bool is_out = record.mark.direction == Direction::outbound;
            links_[fmt::format("{} frames {}", link, is_out ? "out" : "in")].add(time, record.head.size());
            if (item.layout != nullptr)
                opcodes_[fmt::format("BTH {}", hex_or(abi::wire::operations[item.opcode & 0x1f].name, item.opcode))]
                    .add(time, record.head.size());
            break;
        }
        case What::command_done: {
            const auto opcode = seen.command->opcode();
            const auto label = hex_or(name(opcode), static_cast<unsigned>(opcode));
            opcodes_["command " + label].add(time, seen.command->in_length + seen.command->out_length);
            times_[fmt::format("command's entry read to its end, {}", label)].add(time - seen.command->began_ps);
            break;
        }
        default: break;
        }
    }

    const codec::Head& head_;
    WorkBoard board_;
    std::map<std::string, Traffic> links_, queues_, opcodes_; ///< by what they are, as it is printed
    std::map<std::string, Histogram> times_;
};

} // namespace

Outcome stats(Source& trace, const Filter& filter, Destination& destination) {
    Reader reader(trace);
    Output output(destination);
    if (const auto opened = reader.open(); !opened)
        return finish(opened.error(), output);
    Collector collector(reader.head());
    Traffic all;
    auto fault = walk(reader, [&](const Record& record, const Seen& seen, const Decoder&) {
        if (filter.passes(record, seen, reader.head())) {
            all.add(record.time_ps, record.head.size() + record.payload.size());
            collector.add(record, seen);
        }
        return !filter.is_over(record);
    });
    output.line(fmt::format("{} records, {} bytes, {} to {}", all.count, all.bytes, time_text(all.first_ps),
                            time_text(all.last_ps)));
    collector.print(output);
    return finish(std::move(fault), output);
}

} // namespace traces::tool

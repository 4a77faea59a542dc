#include "traces/monitor/rules/completion_events.h"

#include "abi/prm/doorbell.h"

namespace traces::monitor {

using namespace abi::prm;

void CompletionEvents::on(const CqeWritten& written) {
    const auto opcode = written.entry.get<"opcode">();
    if (written.entry.get<"se">() != 0 || opcode == CqeOpcode::req_err || opcode == CqeOpcode::resp_err)
        queues_[{written.at.interface, written.queue.number.value}].solicited = written.queue.producer;
}

void CompletionEvents::on(const CqArmed& armed) {
    auto& queue = queues_[{armed.at.interface, armed.queue.number.value}];
    // Asking for the next solicited completion does not take back that the next one of any kind was asked for.
    queue.is_solicited_only = armed.is_solicited_only && !(queue.armed != 0 && !queue.is_solicited_only);
    queue.armed = armed.at.record;
    queue.consumer = armed.consumer;
}

void CompletionEvents::on(const EqeWritten& written) {
    if (written.completions == nullptr || written.completions->ring.pages.empty())
        return;
    const auto& cq = *written.completions;
    auto& queue = queues_[{written.at.interface, cq.number.value}];
    const auto objects = [&] { return fmt::format("CQ {:#x}, EQ {}", cq.number.value, written.queue.number.value); };
    judges();
    // Indices have 24 bits; a completion that was asked for is ahead of the consumer.
    constexpr auto index_mask = abi::prm::queue_index_mask, half = index_mask / 2 + 1;
    const auto newest = queue.is_solicited_only ? queue.solicited : cq.producer;
    const auto ahead = (newest - queue.consumer) & index_mask;
    if (queue.armed == 0)
        violated(written.at, {queue.reported}, objects(),
                 "a completion event that nobody has asked for: the queue was not armed since the event before");
    else if (ahead == 0 || ahead >= half)
        violated(written.at, {queue.armed}, objects(),
                 fmt::format("a completion event without a completion: the queue was armed for what follows entry "
                             "{:#x}, and nothing {}has been written since; its handler finds nothing",
                             queue.consumer, queue.is_solicited_only ? "solicited " : ""));
    queue.armed = 0;
    queue.reported = written.at.record;
}

void CompletionEvents::on(const ObjectGone& gone) {
    if (gone.kind == ObjectKind::cq)
        queues_.erase({gone.at.interface, gone.number});
}

} // namespace traces::monitor

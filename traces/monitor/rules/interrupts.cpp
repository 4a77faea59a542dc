#include "traces/monitor/rules/interrupts.h"

#include "abi/prm/doorbell.h"

namespace traces::monitor {

void Interrupts::on(const EqeWritten& written) {
    queues_[{written.at.interface, written.queue.number.value}] = {written.queue.vector, true, written.at.record};
}

void Interrupts::on(const EqRung& rung) {
    // Entries that software has not taken are reported again when it arms the queue.
    constexpr auto index_mask = abi::prm::queue_index_mask;
    const auto found = queues_.find({rung.at.interface, rung.queue.number.value});
    if (rung.is_arm && found != queues_.end() && ((rung.queue.producer - rung.consumer) & index_mask) != 0)
        found->second.has_news = true;
}

void Interrupts::on(const Interrupted& interrupt) {
    // Of a vector whose queues nobody has seen made, or that lie in memory nobody knows, there is nothing to say.
    const bool is_known = interrupt.are_queues_known;
    bool has_news = false;
    std::uint64_t newest = 0;
    for (auto& [key, queue] : queues_)
        if (key.first == interrupt.at.interface && queue.vector == interrupt.vector) {
            has_news |= std::exchange(queue.has_news, false);
            newest = std::max(newest, queue.newest);
        }
    auto& before = reported_[{interrupt.at.interface, interrupt.vector}];
    if (is_known)
        judges();
    if (is_known && !has_news)
        violated(interrupt.at, {before, newest}, fmt::format("vector {}", interrupt.vector),
                 "an interrupt without an event: every entry of its event queues was written before an earlier "
                 "interrupt, so that its handler finds nothing, and misses what is written afterwards");
    before = interrupt.at.record;
}

void Interrupts::on(const ObjectGone& gone) {
    if (gone.kind == ObjectKind::eq)
        queues_.erase({gone.at.interface, gone.number});
}

} // namespace traces::monitor

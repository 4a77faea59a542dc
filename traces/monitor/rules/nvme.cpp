#include "traces/monitor/rules/nvme.h"

namespace traces::monitor {

namespace {

NvmeKey key_of(const At& at, const NvmeQueue& queue) { return {at.interface, queue.number}; }
NvmeKey key_of(const NvmeQueueGone& gone) { return {gone.at.interface, gone.number}; }

/// Entries from `from` up to, without, `to`.
std::uint32_t distance(std::uint32_t from, std::uint32_t to, std::uint32_t entries) {
    return (to + entries - from) % entries;
}

std::string sq(std::uint16_t number) { return fmt::format("SQ {}", number); }
std::string cq(std::uint16_t number) { return fmt::format("CQ {}", number); }

} // namespace

void NvmeFetches::on(const NvmeRung& rung) {
    if (!rung.queue.is_completion) {
        auto& queue = queues_[key_of(rung.at, rung.queue)];
        queue.tail = rung.value, queue.rung = rung.at.record;
    }
}

void NvmeFetches::on(const NvmeFetched& fetched) {
    auto& queue = queues_[key_of(fetched.at, fetched.queue)];
    judges();
    if (fetched.slot != queue.next)
        violated(fetched.at, {queue.rung}, sq(fetched.queue.number),
                 fmt::format("the command in slot {} is read where slot {} is the next: commands are fetched in the "
                             "order of the queue",
                             fetched.slot, queue.next));
    else if (queue.next == queue.tail)
        violated(fetched.at, {queue.rung}, sq(fetched.queue.number),
                 fmt::format("the command in slot {} is read, and the doorbell has told of those before it only: what "
                             "stands there may be an old one, or half of a new one",
                             fetched.slot));
    queue.next = (fetched.slot + 1) % fetched.queue.entries;
}

void NvmeFetches::on(const NvmeQueueGone& gone) {
    if (!gone.is_completion)
        queues_.erase(key_of(gone));
}

void NvmeOnce::on(const NvmeFetched& fetched) {
    auto& [count, record] = under_way_[{fetched.at.interface, fetched.queue.number, fetched.command.get<"cid">()}];
    ++count;
    record = fetched.at.record;
}

void NvmeOnce::on(const NvmeCompleted& completed) {
    const auto number = completed.entry.get<"sqid">();
    const auto cid = completed.entry.get<"cid">();
    // Of a queue that is not contiguous, or was made before the recording, nobody knows what was read.
    if (completed.submissions == nullptr)
        return;
    judges();
    const auto found = under_way_.find({completed.at.interface, number, cid});
    if (found == under_way_.end()) {
        violated(completed.at, {}, fmt::format("{}, SQ {}, command {:#x}", cq(completed.queue.number), number, cid),
                 "a completion of a command that was not read, or has completed before: its driver ends another "
                 "request by it, or none");
        return;
    }
    if (--found->second.first == 0)
        under_way_.erase(found);
}

void NvmeOnce::on(const NvmeQueueGone& gone) {
    if (gone.is_completion)
        return;
    const auto begin = under_way_.lower_bound({gone.at.interface, gone.number, 0});
    const auto end = under_way_.upper_bound({gone.at.interface, gone.number, 0xffff});
    under_way_.erase(begin, end);
}

void NvmePhase::on(const NvmeFetched& fetched) {
    submissions_[key_of(fetched.at, fetched.queue)].fetched = (fetched.slot + 1) % fetched.queue.entries;
}

void NvmePhase::on(const NvmeCompleted& completed) {
    auto& queue = completions_[key_of(completed.at, completed.queue)];
    judges();
    const bool phase = completed.entry.get<"p">();
    const auto name = cq(completed.queue.number);
    if (completed.slot != queue.next)
        violated(completed.at, {queue.last}, name,
                 fmt::format("the entry stands in slot {} where slot {} is the next: who polls that one never finds it",
                             completed.slot, queue.next));
    else if (phase != queue.phase)
        violated(completed.at, {queue.last}, name,
                 fmt::format("the entry in slot {} has phase {} in a pass of phase {}: to software it is an old one",
                             completed.slot, int{phase}, int{queue.phase}));
    // What is wrong once is not wrong for ever.
    queue.next = completed.slot + 1, queue.phase = phase, queue.last = completed.at.record;
    if (queue.next == completed.queue.entries)
        queue.next = 0, queue.phase = !phase;
    if (completed.submissions == nullptr)
        return;
    auto& submissions = submissions_[key_of(completed.at, *completed.submissions)];
    const auto head = std::uint32_t{completed.entry.get<"sqhd">()};
    const auto entries = completed.submissions->entries;
    if (head >= entries ||
        distance(submissions.head, head, entries) > distance(submissions.head, submissions.fetched, entries))
        violated(completed.at, {}, fmt::format("{}, SQ {}", name, completed.submissions->number),
                 fmt::format("the head of submissions is told as {}, behind what was read ({}) or before what was told "
                             "already ({}): software overwrites commands by it",
                             head, submissions.fetched, submissions.head));
    submissions.head = head % entries;
}

void NvmePhase::on(const NvmeQueueGone& gone) {
    gone.is_completion ? completions_.erase(key_of(gone)) : submissions_.erase(key_of(gone));
}

void NvmeRoom::on(const NvmeRung& rung) {
    if (rung.queue.is_completion)
        queues_[key_of(rung.at, rung.queue)] = {rung.value, rung.at.record};
}

void NvmeRoom::on(const NvmeCompleted& completed) {
    const auto& queue = queues_[key_of(completed.at, completed.queue)];
    judges();
    if ((completed.slot + 1) % completed.queue.entries == queue.head)
        violated(
            completed.at, {queue.rung}, cq(completed.queue.number),
            fmt::format("the entry in slot {} fills a queue whose head is {}: a full queue has one slot empty, and "
                        "the next entry would be written over one that software has not taken",
                        completed.slot, queue.head));
}

void NvmeRoom::on(const NvmeQueueGone& gone) {
    if (gone.is_completion)
        queues_.erase(key_of(gone));
}

void NvmeInterrupts::on(const NvmeRung& rung) {
    if (!rung.queue.is_completion)
        return;
    const auto found = queues_.find(key_of(rung.at, rung.queue));
    if (found != queues_.end() && rung.value != found->second.end)
        found->second.has_news = true;
}

void NvmeInterrupts::on(const NvmeCompleted& completed) {
    queues_[key_of(completed.at, completed.queue)] = {.vector = completed.queue.vector,
                                                      .has_news = true,
                                                      .end = (completed.slot + 1) % completed.queue.entries,
                                                      .newest = completed.at.record};
}

void NvmeInterrupts::on(const Interrupted& interrupt) {
    if (!interrupt.are_nvme_queues_known)
        return;
    judges();
    bool has_news = false;
    std::uint64_t newest = 0;
    for (auto& [key, queue] : queues_)
        if (key.first == interrupt.at.interface && queue.vector == interrupt.vector) {
            has_news |= std::exchange(queue.has_news, false);
            newest = std::max(newest, queue.newest);
        }
    if (!has_news)
        violated(interrupt.at, {newest}, fmt::format("vector {}", interrupt.vector),
                 "an interrupt without a completion: every entry of its queues was written before an earlier one, so "
                 "that its handler finds nothing, and misses what is written afterwards");
}

void NvmeInterrupts::on(const NvmeQueueGone& gone) {
    if (gone.is_completion)
        queues_.erase(key_of(gone));
}

} // namespace traces::monitor

#include "traces/monitor/rules/tags.h"

namespace traces::monitor {

void Tags::on(const ReadAsked& asked) {
    judges();
    for (const auto& [record, other] : waiting_)
        if (other.at.interface == asked.at.interface && other.direction == asked.direction &&
            other.requester == asked.requester && other.tag == asked.tag)
            violated(asked.at, {record}, fmt::format("requester {:04x}, tag {:#x}", asked.requester, asked.tag),
                     fmt::format("a read of {} bytes at {:#x} has the tag of a read of {} bytes at {:#x} that is not "
                                 "answered yet: nobody can tell their completions apart",
                                 asked.length, asked.address, other.length, other.address));
    waiting_[asked.at.record] = {asked.at,     asked.direction, asked.requester, asked.tag,
                                 asked.access, asked.address,   asked.length};
    if (waiting_.size() > most_waiting) {
        give_up(waiting_.begin()->second);
        waiting_.erase(waiting_.begin());
    }
}

void Tags::on(const ReadAnswered& answered) {
    if (answered.access == 0) {
        violated(answered.at, {answered.at.cause}, fmt::format("tag {:#x}", answered.tag),
                 "a completion that no read waits for: its read has had all of its own, or there was none");
        return;
    }
    const auto asked = waiting_.find(answered.request);
    if (asked != waiting_.end() && asked->second.tag != answered.tag)
        violated(answered.at, {answered.request}, fmt::format("tag {:#x}", answered.tag),
                 fmt::format("the completion of a read with tag {:#x}: who has asked takes it for another's",
                             asked->second.tag));
    waiting_.erase(answered.request);
    if (answered.is_last) // an error ends the access: the rest of its requests gets no completion here
        std::erase_if(waiting_, [&](const auto& entry) { return entry.second.access == answered.access; });
}

void Tags::on(const FunctionReset& reset) {
    std::erase_if(waiting_, [&](const auto& entry) { return entry.second.at.interface == reset.at.interface; });
}

void Tags::give_up(const Waiting& read) {
    violated(read.at, {}, fmt::format("requester {:04x}, tag {:#x}", read.requester, read.tag),
             fmt::format("a read of {} bytes at {:#x} was never answered", read.length, read.address));
}

void Tags::on_end() {
    for (const auto& [record, read] : waiting_)
        give_up(read);
}

} // namespace traces::monitor

// Commands whose work is done in the model, and whose completion has its time; and those that a medium never ends.
#pragma once

#include "model/nvme/queue/queue.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace model::nvme {

class InFlight {
public:
    std::size_t size() const { return due_.size() + lost_.size(); }
    bool is_empty() const { return due_.empty(); }
    void clear() { due_.clear(), lost_.clear(); }
    /// When the next completion is due.
    port::Time next() const { return due_.empty() ? port::never : due_.front().at; }

    void add(const CompletionEntry& entry, port::Time at) {
        if (at == port::never)
            return lost_.push_back(entry);
        due_.push_back({at, ++count_, entry});
        std::ranges::push_heap(due_, later);
    }
    std::optional<CompletionEntry> take(port::Time now) {
        if (next() > now)
            return std::nullopt;
        std::ranges::pop_heap(due_, later);
        const auto entry = due_.back().entry;
        due_.pop_back();
        return entry;
    }
    /// Abort: only what has not been done can be taken back.
    bool abort(std::uint16_t sqid, std::uint16_t cid) {
        const auto found = std::ranges::find_if(
            lost_, [&](const CompletionEntry& entry) { return entry.sqid == sqid && entry.cid == cid; });
        if (found == lost_.end())
            return false;
        lost_.erase(found);
        return true;
    }
    /// A submission queue goes: `visit(entry, is_lost)` for each of its commands, which is none of ours afterwards.
    template <class Visit> void leave(std::uint16_t sqid, Visit&& visit) {
        std::erase_if(lost_,
                      [&](const CompletionEntry& entry) { return entry.sqid == sqid && (visit(entry, true), true); });
        std::ranges::sort(due_, [](const Due& a, const Due& b) { return later(b, a); });
        std::erase_if(due_, [&](const Due& due) { return due.entry.sqid == sqid && (visit(due.entry, false), true); });
        std::ranges::make_heap(due_, later);
    }

private:
    struct Due {
        port::Time at;
        std::uint64_t number;
        CompletionEntry entry;
    };
    static bool later(const Due& a, const Due& b) { return a.at != b.at ? a.at > b.at : a.number > b.number; }

    std::vector<Due> due_; ///< a heap, the earliest first
    std::vector<CompletionEntry> lost_;
    std::uint64_t count_ = 0;
};

} // namespace model::nvme

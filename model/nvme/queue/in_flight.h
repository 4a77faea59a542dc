// Commands whose work is done in the model, and whose completion has its time; those that a medium never ends; and
// first halves of fused pairs, which wait for the entry behind them (NVMe base 2.0 "Fused Operations").
#pragma once

#include "abi/nvme/command.h"
#include "model/nvme/queue/queue.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

namespace model::nvme {

class InFlight {
public:
    std::size_t size() const { return due_.size() + lost_.size(); }
    bool is_empty() const { return due_.empty(); }
    void clear() { due_.clear(), lost_.clear(), halves_.clear(); }
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
    /// A pair has two adjacent entries of a queue. Where the second one is not fetched yet (it is behind the end of a
    /// batch, or the host has rung for the first alone), the first one waits, and nothing of it is done. It does not
    /// count as outstanding: its partner must be fetched.
    using Sqe = std::array<std::byte, abi::nvme::command_bytes>;
    void hold(std::uint16_t sqid, std::span<const std::byte, abi::nvme::command_bytes> entry) {
        auto& half = halves_.emplace_back(sqid);
        std::ranges::copy(entry, half.entry.begin());
    }
    /// The half that waits in this queue, which it leaves.
    std::optional<Sqe> take_half(std::uint16_t sqid) {
        const auto found = std::ranges::find(halves_, sqid, &Half::sqid);
        if (found == halves_.end())
            return std::nullopt;
        const auto entry = found->entry;
        halves_.erase(found);
        return entry;
    }
    /// Abort: only what has not been done can be taken back.
    bool abort(std::uint16_t sqid, std::uint16_t cid) {
        if (std::erase_if(halves_, [&](const Half& half) { return half.sqid == sqid && half.cid() == cid; }) != 0)
            return true;
        const auto found = std::ranges::find_if(
            lost_, [&](const CompletionEntry& entry) { return entry.sqid == sqid && entry.cid == cid; });
        if (found == lost_.end())
            return false;
        lost_.erase(found);
        return true;
    }
    /// A submission queue goes: `visit(entry, is_lost)` for each of its commands, which is none of ours afterwards.
    template <class Visit> void leave(std::uint16_t sqid, Visit&& visit) {
        std::erase_if(halves_, [&](const Half& half) {
            return half.sqid == sqid && (visit(CompletionEntry{.sqid = sqid, .cid = half.cid()}, true), true);
        });
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
    struct Half {
        std::uint16_t sqid = 0;
        Sqe entry{};
        std::uint16_t cid() const { return abi::ConstView<abi::nvme::Command>(entry).get<"cid">(); }
    };
    static bool later(const Due& a, const Due& b) { return a.at != b.at ? a.at > b.at : a.number > b.number; }

    std::vector<Due> due_; ///< a heap, the earliest first
    std::vector<CompletionEntry> lost_;
    std::vector<Half> halves_; ///< one of a queue at most
    std::uint64_t count_ = 0;
};

} // namespace model::nvme

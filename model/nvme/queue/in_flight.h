// Commands whose work is done in the model, and whose completion has its time; those that wait for the drive before
// their data moves; those that a medium never ends; and first halves of fused pairs, which wait for the entry behind
// them (NVMe base 2.0 "Fused Operations").
#pragma once

#include "abi/nvme/command.h"
#include "model/nvme/queue/queue.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace model::nvme {

class InFlight {
public:
    /// I/O commands, and admin commands, with those that never end among them.
    std::size_t io_size() const { return due_.size() + lost_.size() - admin_; }
    std::size_t admin_size() const { return admin_; }
    bool is_empty() const { return due_.empty(); }
    /// Nothing more comes of any of them.
    void clear() {
        lost_.clear(), halves_.clear();
        admin_ = 0;
        if (!drains_)
            return orphan([](const Due&) { return true; });
        due_.clear(), waiting_.clear(), free_.clear();
    }
    /// A mistake on purpose: reads that wait when their queue goes, or the controller is reset, still move their data.
    /// They are orphans then: nobody is told that they end.
    void plant_missing_drains() { drains_ = false; }
    bool has_orphans() const {
        return !drains_ && std::ranges::any_of(due_, [](const Due& due) { return due.is_orphan; });
    }
    /// When the next completion is due.
    port::Time next() const { return due_.empty() ? port::never : due_.front().at; }

    /// When the last one is due that will ever be.
    port::Time last() const {
        const auto last = std::ranges::max_element(due_, {}, &Due::at);
        return last == due_.end() ? port::Time{} : last->at;
    }

    void add(const CompletionEntry& entry, port::Time at) {
        admin_ += entry.sqid == 0 ? 1 : 0;
        if (at == port::never)
            return lost_.push_back(entry);
        push({at, ++count_, entry, no_command});
    }
    using Entry = std::span<const std::byte, abi::nvme::command_bytes>;
    using Sqe = std::array<std::byte, abi::nvme::command_bytes>;
    /// A command of which nothing is done yet, and since when the host has granted it what it names.
    struct Untouched {
        Sqe command{};
        port::Time since{};
        std::uint64_t cause = 0; ///< event that it was fetched
    };
    static Untouched untouched(Entry command, port::Time since, std::uint64_t cause) {
        Untouched one{.since = since, .cause = cause};
        std::ranges::copy(command, one.command.begin());
        return one;
    }
    /// Nothing is done before `at`.
    void wait(std::uint16_t sqid, const Untouched& command, port::Time at) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(waiting_.size()));
            waiting_.emplace_back();
        }
        const auto place = free_.back();
        free_.pop_back();
        waiting_[place] = command;
        push({at, ++count_, {.sqid = sqid, .cid = cid_of(command.command)}, place});
    }
    /// What is due: a completion, or a command that is to be carried out now.
    struct Taken {
        CompletionEntry entry;
        std::optional<Untouched> waiting;
        bool is_orphan = false;
    };
    std::optional<Taken> take(port::Time now) {
        if (next() > now)
            return std::nullopt;
        std::ranges::pop_heap(due_, later);
        const auto due = due_.back();
        due_.pop_back();
        admin_ -= due.entry.sqid == 0 ? 1 : 0;
        if (due.command == no_command)
            return Taken{due.entry, std::nullopt};
        free_.push_back(due.command);
        return Taken{due.entry, waiting_[due.command], due.is_orphan};
    }
    /// A pair has two adjacent entries of a queue. Where the second one is not fetched yet (it is behind the end of a
    /// batch, or the host has rung for the first alone), the first one waits, and nothing of it is done. It does not
    /// count as outstanding: its partner must be fetched.
    void hold(std::uint16_t sqid, const Untouched& command) { halves_.push_back({sqid, command}); }
    /// The half that waits in this queue, which it leaves.
    std::optional<Untouched> take_half(std::uint16_t sqid) {
        const auto found = std::ranges::find(halves_, sqid, &Half::sqid);
        if (found == halves_.end())
            return std::nullopt;
        const auto entry = found->entry;
        halves_.erase(found);
        return entry;
    }
    /// Nothing more is fetched, so no partner comes: each half that waits, with its queue.
    std::vector<std::pair<std::uint16_t, Untouched>> take_halves() {
        std::vector<std::pair<std::uint16_t, Untouched>> all;
        for (const auto& half : std::exchange(halves_, {}))
            all.emplace_back(half.sqid, half.entry);
        return all;
    }
    /// Abort: only what has not been done can be taken back.
    bool abort(std::uint16_t sqid, std::uint16_t cid) {
        if (std::erase_if(halves_, [&](const Half& half) { return half.sqid == sqid && half.cid() == cid; }) != 0)
            return true;
        const auto is_it = [&](const CompletionEntry& entry) { return entry.sqid == sqid && entry.cid == cid; };
        if (const auto found = std::ranges::find_if(lost_, is_it); found != lost_.end()) {
            lost_.erase(found);
            admin_ -= sqid == 0 ? 1 : 0;
            return true;
        }
        const auto found = std::ranges::find_if(
            due_, [&](const Due& due) { return due.command != no_command && !due.is_orphan && is_it(due.entry); });
        if (found == due_.end())
            return false;
        free_.push_back(found->command);
        due_.erase(found);
        std::ranges::make_heap(due_, later);
        return true;
    }
    /// An I/O submission queue goes: `visit(entry, is_lost)` for each of its commands, which is none of ours
    /// afterwards. Lost is one of which nothing was done.
    template <class Visit> void leave(std::uint16_t sqid, Visit&& visit) {
        std::erase_if(halves_, [&](const Half& half) {
            return half.sqid == sqid && (visit(CompletionEntry{.sqid = sqid, .cid = half.cid()}, true), true);
        });
        std::erase_if(lost_,
                      [&](const CompletionEntry& entry) { return entry.sqid == sqid && (visit(entry, true), true); });
        std::ranges::sort(due_, [](const Due& a, const Due& b) { return later(b, a); });
        std::erase_if(due_, [&](const Due& due) {
            if (due.entry.sqid != sqid || due.is_orphan)
                return false;
            visit(due.entry, due.command != no_command);
            if (!drains_)
                return false;
            if (due.command != no_command)
                free_.push_back(due.command);
            return true;
        }); // what is sorted is a heap as well
        if (!drains_)
            orphan([&](const Due& due) { return due.entry.sqid == sqid; });
    }

private:
    struct Due {
        port::Time at;
        std::uint64_t number;
        CompletionEntry entry;
        std::uint32_t command;  ///< place in waiting_
        bool is_orphan = false; ///< by a plant
    };
    static std::uint16_t cid_of(Entry entry) { return abi::ConstView<abi::nvme::Command>(entry).get<"cid">(); }
    struct Half {
        std::uint16_t sqid = 0;
        Untouched entry{};
        std::uint16_t cid() const { return cid_of(entry.command); }
    };
    static constexpr std::uint32_t no_command = ~0u;
    template <class Is> void orphan(Is&& is) {
        std::erase_if(due_, [&](const Due& due) { return due.command == no_command && is(due); });
        for (auto& due : due_)
            due.is_orphan |= is(due);
        std::ranges::make_heap(due_, later);
    }
    void push(const Due& due) {
        due_.push_back(due);
        std::ranges::push_heap(due_, later);
    }
    static bool later(const Due& a, const Due& b) { return a.at != b.at ? a.at > b.at : a.number > b.number; }

    std::vector<Due> due_; ///< a heap, the earliest first
    std::vector<CompletionEntry> lost_;
    std::size_t admin_ = 0; ///< of both, those of the admin queue, which is never left
    std::vector<Untouched> waiting_;
    std::vector<std::uint32_t> free_; ///< places of waiting_ that nobody has
    std::vector<Half> halves_;        ///< one of a queue at most
    bool drains_ = true;
    std::uint64_t count_ = 0;
};

} // namespace model::nvme

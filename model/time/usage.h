// What a resource tells of itself: how often it was used, how long it was busy, how long its users waited, and how many
// waited already when one more came. Counted at each use without allocation; read by a report.
#pragma once

#include "model/port/time.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace model::time {

/// How many found how many others waiting: none, 1, 2 to 3, 4 to 7, 8 to 15, 16 to 31, 32 to 63, 64 and more.
using QueueLengths = std::array<std::uint64_t, 8>;

struct Usage {
    std::uint64_t uses = 0;
    port::Time busy{};         ///< summed over the units
    port::Time waited{};       ///< summed over the users: from arrival to begin
    port::Time longest_wait{}; ///< of one user
    QueueLengths found_waiting{};

    bool operator==(const Usage&) const = default;
    Usage& operator+=(const Usage& other) {
        uses += other.uses, busy += other.busy, waited += other.waited;
        longest_wait = std::max(longest_wait, other.longest_wait);
        for (std::size_t i = 0; i < found_waiting.size(); ++i)
            found_waiting[i] += other.found_waiting[i];
        return *this;
    }
};

/// What a cache counts beside its uses.
struct CacheCounters {
    std::uint64_t hits = 0, merged = 0, misses = 0, evictions = 0; ///< merged: came while the line was being filled
    bool operator==(const CacheCounters&) const = default;
};

/// When a use of a resource begins and when it is done.
struct Booking {
    port::Time begin{}, done{};
    bool operator==(const Booking&) const = default;
};

enum class Kind : std::uint8_t { server, line, window, cache };

/// One row of a report.
struct Account {
    std::string_view name; ///< the resource's own; as long as the resource lives
    Kind kind = Kind::server;
    unsigned units = 1; ///< that can be busy at the same time
    Usage usage{};
    std::uint64_t bytes = 0; ///< of a line: that crossed it
    CacheCounters cache{};   ///< of a cache

    /// Share of `elapsed` that its units were busy, in 0 to 1.
    double load(port::Time elapsed) const {
        const auto possible = static_cast<double>(elapsed.count()) * units;
        return possible > 0 ? static_cast<double>(usage.busy.count()) / possible : 0;
    }
};

/// Several equal resources as one row of that name: their units and what they counted, together.
template <class Resources> Account sum(std::string_view name, const Resources& resources) {
    Account all{.name = name, .kind = Kind::server, .units = 0};
    for (const auto& resource : resources) {
        const Account one = resource.account();
        all.kind = one.kind;
        all.units += one.units;
        all.usage += one.usage;
        all.bytes += one.bytes;
    }
    return all;
}

/// What was busy for the largest share of the time: the bottleneck, as far as resources of this vocabulary show it.
/// The first of several equal ones; nullptr where nothing was busy. A window is full of users who wait for what is
/// behind it, so it is named only where nothing behind it is nearly as busy.
inline const Account* bottleneck(std::span<const Account> accounts) {
    constexpr std::int64_t nearly = 4; // fifths
    const Account *busiest = nullptr, *fullest = nullptr;
    const auto share = [](const Account& account) { return account.usage.busy.count() / account.units; };
    for (const auto& account : accounts) {
        auto& most = account.kind == Kind::window ? fullest : busiest;
        if (account.usage.busy.count() > 0 && (most == nullptr || share(account) > share(*most)))
            most = &account;
    }
    const bool is_window = fullest != nullptr && (busiest == nullptr || share(*busiest) < share(*fullest) / 5 * nearly);
    return is_window ? fullest : busiest;
}

/// What users waited for longest, all of them together; nullptr where nobody waited.
inline const Account* longest_queue(std::span<const Account> accounts) {
    const auto longest =
        std::ranges::max_element(accounts, {}, [](const Account& account) { return account.usage.waited; });
    return longest != accounts.end() && longest->usage.waited.count() > 0 ? &*longest : nullptr;
}

/// Counts uses. Remembers the begin of the last 64 users, so it knows how many of them still wait at a given time.
class Meter {
public:
    explicit Meter(std::string name) : name_(std::move(name)) {}

    /// One user came at `at` and began at `begin`.
    void count(port::Time at, port::Time begin) {
        ++usage_.uses;
        ++usage_.found_waiting[std::bit_width(waiting(at))];
        if (begin > at) {
            usage_.waited += begin - at;
            usage_.longest_wait = std::max(usage_.longest_wait, begin - at);
        }
        latest_ = std::max(latest_, begin);
        begins_[next_++ % begins_.size()] = begin;
    }
    void add_busy(port::Time span) { usage_.busy += span; }

    const std::string& name() const { return name_; }
    const Usage& usage() const { return usage_; }

private:
    unsigned waiting(port::Time at) const {
        if (latest_ <= at) [[likely]]
            return 0;
        unsigned found = 0;
        for (const auto begin : begins_)
            found += begin > at;
        return found;
    }

    std::string name_;
    Usage usage_;
    std::array<port::Time, 64> begins_{};
    std::size_t next_ = 0;
    port::Time latest_{};
};

} // namespace model::time

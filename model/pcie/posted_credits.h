// Room for posted requests at the receiving end of a link (PCIe 6.0 §2.6.1, credits for posted data). A write takes
// credits, and gives them back when it has left the receiver again and the receiver has said so. Whoever finds too few
// waits, so that a slow part of the way is felt at its begin: by a function whose writes have no completion that would
// tell.
#pragma once

#include "model/port/time.h"
#include "model/time/schedule.h"
#include "model/time/usage.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace model::pcie {

inline constexpr std::uint64_t credit_bytes = 16; ///< of posted data (§2.6.1, four double words)

constexpr std::uint64_t posted_credits(std::uint64_t data_bytes) {
    return std::max<std::uint64_t>(1, (data_bytes + credit_bytes - 1) / credit_bytes);
}

class PostedCredits {
public:
    /// 0: the receiver has room for everything (§2.6.1, infinite credits).
    explicit PostedCredits(std::uint64_t limit) : limit_(limit) {}

    /// A write goes through the room packet by packet. How much of the room it takes while it does, and how long that
    /// lasts at least, when credits come back after `round_trip`.
    struct Passage {
        std::uint64_t credits;
        port::Time least{};
    };
    Passage passage(std::uint64_t credits, port::Time span, port::Time round_trip) const {
        if (limit_ == 0 || credits <= limit_ / 2)
            return {credits};
        // The first of them find all of the room; each lot that follows waits for one to come back.
        const auto behind = static_cast<double>(credits - std::min(credits, limit_)) / static_cast<double>(limit_);
        const port::Time least{static_cast<std::int64_t>(behind * static_cast<double>(round_trip.count()))};
        if (least > span)
            return {limit_, least};
        return {std::max<std::uint64_t>(1, limit_ / 2)}; // the next one begins while the end of it is in the room
    }
    /// When a request that could begin at `at` finds `credits` of them, which is no more than all.
    port::Time room(std::uint64_t credits, port::Time at) {
        if (limit_ == 0)
            return at;
        const auto begin = at < newest_ ? between(credits, at) : behind(credits, at);
        ++usage_.uses;
        usage_.waited += begin - at;
        usage_.longest_wait = std::max(usage_.longest_wait, begin - at);
        return begin;
    }
    /// One that came at `at` and began at `begin` gives its credits back at `until`.
    void take(std::uint64_t credits, port::Time at, port::Time begin, port::Time until) {
        if (limit_ == 0)
            return;
        usage_.busy += (until - begin) * static_cast<std::int64_t>(credits);
        if (last_ - first_ == users_.size()) [[unlikely]]
            make_room();
        user(last_++) = {at, begin, until, credits};
        taken_ += credits;
        newest_ = std::max(newest_, at);
        usual_ = until - begin;
    }
    void clear() {
        first_ = open_ = last_ = 0;
        taken_ = 0;
        newest_ = {};
    }
    /// `busy` is summed over the credits that are taken.
    const time::Usage& usage() const { return usage_; }
    std::uint64_t limit() const { return limit_; }

private:
    struct Step {
        port::Time at;
        std::int64_t change;
    };
    struct User {
        port::Time came, began, until;
        std::uint64_t credits;
    };
    User& user(std::size_t i) { return users_[i & (users_.size() - 1)]; }
    const User& user(std::size_t i) const { return users_[i & (users_.size() - 1)]; }
    void make_room() {
        if (users_.size() >= most_users && first_ != open_) {
            first_ = open_;
            return;
        }
        std::vector<User> larger(std::max<std::size_t>(16, users_.size() * 2));
        for (auto i = first_; i != last_; ++i)
            larger[i & (larger.size() - 1)] = user(i);
        users_ = std::move(larger);
    }
    /// For one who comes behind all others.
    port::Time behind(std::uint64_t credits, port::Time at) {
        while (open_ != last_ && user(open_).until <= at)
            taken_ -= user(open_++).credits;
        while (first_ != open_ && user(first_).until < time::past_until)
            ++first_;
        return taken_ + credits <= limit_ ? at : wait(open_, credits, at);
    }
    /// For one who comes before others that were booked before.
    port::Time between(std::uint64_t credits, port::Time at) {
        std::uint64_t most = credits;
        for (auto i = first_; i != last_ && most <= limit_; ++i)
            if (user(i).until > at && user(i).began < at + usual_)
                most += user(i).credits;
        return most <= limit_ ? at : pass(credits, wait(first_, credits, at));
    }
    /// Those who are there leave in the order in which they came.
    port::Time wait(std::size_t first, std::uint64_t credits, port::Time at) const {
        std::uint64_t inside = 0;
        for (auto i = first; i != last_; ++i)
            if (user(i).came <= at && user(i).until > at)
                inside += user(i).credits;
        auto begin = at;
        for (auto i = first; i != last_ && inside + credits > limit_; ++i)
            if (user(i).came <= at && user(i).until > at) {
                begin = std::max(begin, user(i).until);
                inside -= user(i).credits;
            }
        return begin;
    }
    /// Who comes later and was booked before has his credits from when he begins. Returns the first time from `begin`
    /// on at which so many are free, and stay so for as long as the last user had his: how long this one will is not
    /// known yet.
    port::Time pass(std::uint64_t credits, port::Time begin) {
        steps_.clear();
        for (auto i = first_; i != last_; ++i)
            if (const auto& one = user(i); one.until > begin && one.until > one.began) {
                steps_.push_back({one.until, -static_cast<std::int64_t>(one.credits)}); // before who begins then
                steps_.push_back({std::max(one.began, begin), static_cast<std::int64_t>(one.credits)});
            }
        std::ranges::stable_sort(steps_, {}, [](const Step& step) { return std::pair(step.at, step.change > 0); });
        const auto most = static_cast<std::int64_t>(limit_ - credits); // that others may have meanwhile
        std::int64_t taken = 0;
        for (bool is_free = true; const auto& step : steps_) {
            if (is_free && step.at >= begin + usual_)
                break;
            taken += step.change;
            if (taken <= most && !is_free)
                begin = step.at;
            is_free = taken <= most;
        }
        return begin;
    }

    static constexpr std::size_t most_users = 8192; ///< that are remembered where time does not pass
    std::uint64_t limit_;
    std::uint64_t taken_ = 0; ///< of all users from open_ on
    std::vector<User> users_; ///< a ring of a power of two, in the order in which they were booked
    std::size_t first_ = 0;   ///< of those who may still be there when somebody comes
    std::size_t open_ = 0;    ///< of those who may be when somebody comes who is the latest
    std::size_t last_ = 0;
    port::Time newest_{};     ///< when the latest of them came
    port::Time usual_{};      ///< how long the last one had his
    std::vector<Step> steps_; ///< of pass(), which keeps its place
    time::Usage usage_;
};

} // namespace model::pcie

// A pool: so many equal things, of which each user takes some for a while. Tags of a function, credits of a receiver.
// Users come at computed times, which need not come in order: a payload is asked for when its work request will be
// there, and the next work request is asked for after that in the order of calls, but before it in time. It finds what
// is free then. Computes times; nobody is woken here.
#pragma once

#include "model/port/time.h"
#include "model/time/schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace model::time {

class Pool {
public:
    explicit Pool(std::uint64_t count) : count_(count) {}

    std::uint64_t count() const { return count_; }
    /// From when on somebody has `number` of them, who asks at `at`. There is one give() for each take(). While
    /// all belong to users around this one, nobody would ever give them back, and it does not wait.
    port::Time take(port::Time at, std::uint64_t number) {
        const auto begin = earliest(at, std::min(number, count_ - std::min(open_, count_)));
        if (begin > at)
            waited_ = {at, begin};
        open_ += number;
        return begin;
    }
    /// Who had them from `begin` on gives them back at `end`, which may lie ahead.
    void give(port::Time begin, port::Time end, std::uint64_t number) {
        open_ -= number;
        usual_ = end - begin;
        if (end <= begin || number == 0)
            return;
        forget_past();
        const auto from = split(begin);
        for (auto until = split(end), i = from; i != until; ++i)
            steps_[i].taken += number;
    }
    /// When the next one could be taken that is asked for at `at`.
    port::Time next(port::Time at) const { return open_ < count_ ? earliest(at, 1) : at; }
    /// How many can be taken at next(at); any number if nobody would ever give one back.
    std::uint64_t at_once(port::Time at) const {
        if (open_ >= count_)
            return std::numeric_limits<std::uint64_t>::max();
        const auto begin = next(at);
        auto i = after(begin);
        auto most = i == first_ ? 0 : steps_[i - 1].taken;
        for (; i != steps_.size() && steps_[i].from < begin + usual_; ++i)
            most = std::max(most, steps_[i].taken);
        return std::max<std::uint64_t>(1, count_ - std::min(count_, open_ + most));
    }
    void clear() {
        steps_.clear();
        first_ = 0;
        open_ = 0;
        waited_ = {};
    }

private:
    struct Step { ///< from then on, until the next step, so many are taken
        port::Time from{};
        std::uint64_t taken = 0;
    };
    struct Waited {
        port::Time came{}, begin{};
    };

    /// The first time from `at` on at which so many are free, and stay so for as long as the last user had his: how
    /// long this one will is not known yet. Who came first goes first.
    port::Time earliest(port::Time at, std::uint64_t number) const {
        auto begin = at >= waited_.came ? std::max(at, waited_.begin) : at;
        const auto most = count_ - std::min(count_, open_ + number); // that others may have meanwhile
        auto i = after(begin);
        auto taken = i == first_ ? 0 : steps_[i - 1].taken;
        for (; i != steps_.size(); taken = steps_[i++].taken) {
            if (taken > most)
                begin = steps_[i].from;
            else if (steps_[i].from >= begin + usual_)
                break;
        }
        return begin;
    }
    /// The first step behind `at`.
    std::size_t after(port::Time at) const {
        const auto begin = steps_.begin() + static_cast<std::ptrdiff_t>(first_);
        return static_cast<std::size_t>(std::ranges::upper_bound(begin, steps_.end(), at, {}, &Step::from) -
                                        steps_.begin());
    }
    /// The step that begins at `at`, which is made if there is none.
    std::size_t split(port::Time at) {
        const auto i = after(at);
        if (i != first_ && steps_[i - 1].from == at)
            return i - 1;
        const auto taken = i == first_ ? 0 : steps_[i - 1].taken;
        steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(i), Step{at, taken});
        return i;
    }
    /// Steps that are over before anybody comes; they are moved away many at a time.
    void forget_past() {
        while (first_ + 1 < steps_.size() &&
               (steps_[first_ + 1].from < past_until || steps_.size() - first_ > most_steps))
            ++first_;
        if (first_ < 64 || first_ * 2 < steps_.size())
            return;
        steps_.erase(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
    }

    static constexpr std::size_t most_steps = 8192;
    std::uint64_t count_;
    std::uint64_t open_ = 0;  ///< taken by users whose end is not known yet
    std::vector<Step> steps_; ///< from first_ on, in order of time; nothing is taken from the last one on
    std::size_t first_ = 0;
    port::Time usual_{}; ///< how long the last user had his
    Waited waited_;      ///< the last one that had to
};

} // namespace model::time

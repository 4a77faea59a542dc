// When one thing that does one piece of work at a time is taken. Work is booked at computed times, which need not come
// in order: what is booked far ahead leaves a gap before it, and work that arrives earlier may take that gap.
#pragma once

#include "model/port/time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace model::time {

/// What becomes of idle time before a booking: open to whoever arrives early enough for it, or lost, as with hardware
/// that has decided what comes next.
enum class Gaps : std::uint8_t { usable, lost };

class Schedule {
public:
    explicit Schedule(Gaps gaps = Gaps::usable) : gaps_(gaps) {}

    /// When work that arrives at `at` and lasts `span` would begin.
    port::Time earliest(port::Time at, port::Time span) const {
        const auto gap = find(at, span);
        return gap < count_ ? std::max(at, open_[gap].begin) : std::max(at, free_);
    }
    /// Books it there and returns its begin.
    port::Time book(port::Time at, port::Time span) {
        const auto gap = find(at, span);
        if (gap < count_)
            return split(gap, std::max(at, open_[gap].begin), span);
        const auto begin = std::max(at, free_);
        if (begin > free_ && gaps_ == Gaps::usable)
            insert(count_, {free_, begin});
        free_ = begin + span;
        return begin;
    }
    /// From here on nothing is booked.
    port::Time free_from() const { return free_; }

private:
    struct Gap {
        port::Time begin, end;
    };

    std::size_t find(port::Time at, port::Time span) const {
        if (at >= free_) [[likely]]
            return count_;
        std::size_t gap = 0;
        while (gap < count_ && std::max(at, open_[gap].begin) + span > open_[gap].end)
            ++gap;
        return gap;
    }
    port::Time split(std::size_t gap, port::Time begin, port::Time span) {
        const auto [from, until] = open_[gap];
        const auto end = begin + span;
        const bool is_open_before = begin > from, is_open_after = end < until;
        if (is_open_before)
            open_[gap].end = begin;
        if (is_open_after && is_open_before)
            insert(gap + 1, {end, until});
        else if (is_open_after)
            open_[gap].begin = end;
        else if (!is_open_before)
            erase(gap);
        return begin;
    }
    /// Where there is no place for one more gap, the earliest is forgotten: that time counts as taken.
    void insert(std::size_t place, Gap gap) {
        if (count_ == open_.size()) {
            erase(0);
            if (place > 0)
                --place;
        }
        std::move_backward(open_.begin() + static_cast<std::ptrdiff_t>(place),
                           open_.begin() + static_cast<std::ptrdiff_t>(count_),
                           open_.begin() + static_cast<std::ptrdiff_t>(count_ + 1));
        open_[place] = gap;
        ++count_;
    }
    void erase(std::size_t place) {
        std::move(open_.begin() + static_cast<std::ptrdiff_t>(place + 1),
                  open_.begin() + static_cast<std::ptrdiff_t>(count_),
                  open_.begin() + static_cast<std::ptrdiff_t>(place));
        --count_;
    }

    Gaps gaps_;
    std::array<Gap, 128> open_{}; ///< in order of time, the first count_ of them
    std::size_t count_ = 0;
    port::Time free_{};
};

} // namespace model::time

// When one thing that does one piece of work at a time is taken. Work is booked at computed times, which need not come
// in order: what is booked far ahead leaves a gap before it, and work that arrives earlier may take that gap.
#pragma once

#include "model/port/time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace model::time {

/// What becomes of idle time before a booking: open to whoever arrives early enough for it, or lost, as with hardware
/// that has decided what comes next.
enum class Gaps : std::uint8_t { usable, lost };

/// Before this time nobody will book anything any more. It is of the simulation, as the kernel's time is, which moves
/// it on (model/tlm/agenda.h).
inline port::Time past_until{};

class Schedule {
public:
    explicit Schedule(Gaps gaps = Gaps::usable) : gaps_(gaps) {}

    /// When work that arrives at `at` and lasts `span` would begin.
    port::Time earliest(port::Time at, port::Time span) const {
        const auto gap = find(at, span);
        return gap < count_ ? std::max(at, open(gap).begin) : std::max(at, free_);
    }
    /// Books it there and returns its begin.
    port::Time book(port::Time at, port::Time span) {
        const auto gap = find(at, span);
        if (gap < count_)
            return split(gap, std::max(at, open(gap).begin), span);
        return append(at, span);
    }
    struct Taken {
        port::Time begin, end;
    };
    /// The same for work that may pause while what was booked before is done. So a line is idle only where nobody has
    /// anything for it: silicon would start such work in a gap that is too short, and the next one a little later.
    Taken book_in_pieces(port::Time at, port::Time span) {
        auto gap = at < free_ ? find(at, port::Time{1}) : count_;
        if (gap == count_) {
            const auto begin = append(at, span);
            return {begin, begin + span};
        }
        const auto first = std::max(at, open(gap).begin);
        auto end = first;
        while (gap < count_ && span.count() != 0) {
            const auto begin = std::max(at, open(gap).begin);
            const auto piece = std::min(span, open(gap).end - begin);
            const bool stays = begin > open(gap).begin; // what is before it stays open
            split(gap, begin, piece);
            gap += stays;
            span -= piece;
            end = begin + piece;
        }
        if (span.count() != 0)
            end = free_ += span;
        return {first, end};
    }
    /// From here on nothing is booked.
    port::Time free_from() const { return free_; }

private:
    struct Gap {
        port::Time begin, end;
    };

    Gap& open(std::size_t number) { return open_[(first_ + number) & (open_.size() - 1)]; }
    const Gap& open(std::size_t number) const { return open_[(first_ + number) & (open_.size() - 1)]; }

    /// The first gap that has room; count_: there is none.
    std::size_t find(port::Time at, port::Time span) const {
        if (at >= free_) [[likely]]
            return count_;
        // What ends too early for it is of no use, and the gaps are in order. Most requests come late: the search
        // begins with the last ones.
        const auto enough = at + span;
        std::size_t gap = 0, beyond = count_; // it is one of these, or there is none
        for (std::size_t step = 1; beyond > 0; step *= 2) {
            const auto probe = count_ - std::min(step, count_);
            if (open(probe).end < enough) {
                gap = probe + 1;
                break;
            }
            beyond = probe;
        }
        while (gap < beyond) {
            const auto half = gap + (beyond - gap) / 2;
            if (open(half).end < enough)
                gap = half + 1;
            else
                beyond = half;
        }
        while (gap < count_ && std::max(at, open(gap).begin) + span > open(gap).end)
            ++gap;
        return gap;
    }
    /// Books it behind all that is booked.
    port::Time append(port::Time at, port::Time span) {
        const auto begin = std::max(at, free_);
        if (begin > free_ && gaps_ == Gaps::usable) {
            forget_past();
            make_place();
            open(count_++) = {free_, begin};
        }
        free_ = begin + span;
        return begin;
    }
    port::Time split(std::size_t gap, port::Time begin, port::Time span) {
        const auto [from, until] = open(gap);
        const auto end = begin + span;
        const bool is_open_before = begin > from, is_open_after = end < until;
        if (is_open_before)
            open(gap).end = begin;
        if (is_open_after && is_open_before)
            insert(gap + 1, {end, until});
        else if (is_open_after)
            open(gap).begin = end;
        else if (!is_open_before)
            erase(gap);
        return begin;
    }
    void insert(std::size_t place, Gap gap) {
        place -= std::min(place, make_place());
        for (auto i = count_; i > place; --i)
            open(i) = open(i - 1);
        open(place) = gap;
        ++count_;
    }
    /// Gaps that are of no use to anybody: kept, they would fill the processor's cache.
    void forget_past() {
        while (count_ != 0 && open(0).end < past_until) {
            first_ = (first_ + 1) & (open_.size() - 1);
            --count_;
        }
    }
    /// Makes a place for one more gap; returns how many are forgotten for that. It is the earliest: that time counts as
    /// taken.
    std::size_t make_place() {
        if (count_ != open_.size()) [[likely]]
            return 0;
        if (count_ < most) {
            grow();
            return 0;
        }
        first_ = (first_ + 1) % most;
        --count_;
        return 1;
    }
    void grow() {
        std::vector<Gap> larger(std::max<std::size_t>(16, open_.size() * 2));
        for (std::size_t i = 0; i < count_; ++i)
            larger[i] = open(i);
        open_ = std::move(larger);
        first_ = 0;
    }
    void erase(std::size_t place) {
        for (auto i = place; i + 1 < count_; ++i)
            open(i) = open(i + 1);
        --count_;
    }

    static constexpr std::size_t most = 1024;
    Gaps gaps_;
    std::vector<Gap> open_; ///< a ring of count_ gaps from first_ on, in order of time; a power of two of places
    std::size_t first_ = 0, count_ = 0;
    port::Time free_{};
};

} // namespace model::time

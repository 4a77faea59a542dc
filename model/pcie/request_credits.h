// Room for non-posted requests at the receiving end of a link (PCIe 6.0 §2.6.1, credits for non-posted headers). A
// request takes one credit and gives it back when it has left the receiver again: for the next link, or answered. Only
// memory reads take them here: nothing that is sent has non-posted data (§2.6.1 counts it for atomics, I/O and
// configuration writes). Computes times; nobody is woken here.
#pragma once

#include "model/port/time.h"
#include "model/time/usage.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace model::pcie {

class RequestCredits {
public:
    /// 0: the receiver has room for everything (§2.6.1, infinite credits).
    explicit RequestCredits(unsigned limit)
        : limit_(limit), unused_(limit), ends_(std::bit_ceil(std::max(1u, limit))) {}

    std::uint64_t limit() const { return limit_; }
    /// How many requests find credits at once, at the first time from `at` on at which any does; at least 1.
    std::uint64_t at_once(port::Time at) const {
        if (limit_ == 0 || (unused_ == 0 && first_ == last_))
            return std::numeric_limits<std::uint64_t>::max();
        std::uint64_t sum = unused_;
        const auto from = sum != 0 || first_ == last_ ? at : std::max(at, ends_[first_ & mask()].at);
        for (auto i = first_; i != last_ && ends_[i & mask()].at <= from; ++i)
            sum += ends_[i & mask()].credits;
        return sum;
    }
    /// When the last of so many requests leaves that could leave at `at`. There is one give() for each take().
    port::Time take(std::uint64_t requests, port::Time at) {
        if (limit_ == 0)
            return at;
        auto begin = at;
        auto missing = requests;
        for (std::uint64_t taken; missing != 0; missing -= taken) {
            if (unused_ != 0) {
                unused_ -= taken = std::min<std::uint64_t>(unused_, missing);
                continue;
            }
            if (first_ == last_)
                break;
            auto& end = ends_[first_ & mask()];
            begin = std::max(begin, end.at);
            end.credits -= taken = std::min(end.credits, missing);
            first_ += end.credits == 0;
        }
        borrowed_ += missing;
        usage_.uses += requests;
        usage_.waited += begin - at;
        usage_.longest_wait = std::max(usage_.longest_wait, begin - at);
        return begin;
    }
    /// Those that began at `begin` have left at `until`, and the sender knows.
    void give(std::uint64_t requests, port::Time begin, port::Time until) {
        if (limit_ == 0)
            return;
        usage_.busy += (until - begin) * static_cast<std::int64_t>(requests);
        const auto returned = std::min(borrowed_, requests);
        borrowed_ -= returned;
        if (requests == returned)
            return;
        // They leave in about the order in which they came, so the place is near the end.
        auto place = last_++;
        for (; place != first_ && ends_[(place - 1) & mask()].at > until; --place)
            ends_[place & mask()] = ends_[(place - 1) & mask()];
        ends_[place & mask()] = {until, requests - returned};
    }
    void clear() {
        unused_ = limit_;
        borrowed_ = 0;
        first_ = last_ = 0;
    }
    /// `busy` is summed over the credits that are taken.
    const time::Usage& usage() const { return usage_; }

private:
    struct End { ///< from `at` on these credits can be used again
        port::Time at{};
        std::uint64_t credits = 0;
    };
    std::size_t mask() const { return ends_.size() - 1; }

    std::uint64_t limit_;
    std::uint64_t unused_;             ///< so far
    std::uint64_t borrowed_ = 0;       ///< while all belong to requests around this one: nobody would give these back
    std::vector<End> ends_;            ///< a ring in order of time; its size is a power of two
    std::size_t first_ = 0, last_ = 0; ///< ends_[first_, last_) have credits, at least one each
    time::Usage usage_;
};

} // namespace model::pcie

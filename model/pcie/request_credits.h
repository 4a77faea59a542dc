// Room for non-posted requests at the receiving end of a link (PCIe 6.0 §2.6.1, credits for non-posted headers). A
// request takes one credit and gives it back when it has left the receiver again: for the next link, or answered. Only
// memory reads take them here: nothing that is sent has non-posted data (§2.6.1 counts it for atomics, I/O and
// configuration writes). Computes times; nobody is woken here.
#pragma once

#include "model/time/pool.h"
#include "model/time/usage.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace model::pcie {

class RequestCredits {
public:
    /// 0: the receiver has room for everything (§2.6.1, infinite credits).
    explicit RequestCredits(unsigned limit) : pool_(limit) {}

    std::uint64_t limit() const { return pool_.count(); }
    /// How many requests find credits at once, at the first time from `at` on at which any does; at least 1.
    std::uint64_t at_once(port::Time at) const {
        return limit() == 0 ? std::numeric_limits<std::uint64_t>::max() : pool_.at_once(at);
    }
    /// When the last of so many requests leaves that could leave at `at`. There is one give() for each take().
    port::Time take(std::uint64_t requests, port::Time at) {
        if (limit() == 0)
            return at;
        const auto begin = pool_.take(at, requests);
        usage_.uses += requests;
        usage_.waited += begin - at;
        usage_.longest_wait = std::max(usage_.longest_wait, begin - at);
        return begin;
    }
    /// Those that began at `begin` have left at `until`, and the sender knows.
    void give(std::uint64_t requests, port::Time begin, port::Time until) {
        if (limit() == 0)
            return;
        usage_.busy += (until - begin) * static_cast<std::int64_t>(requests);
        pool_.give(begin, until, requests);
    }
    void clear() { pool_.clear(); }
    /// `busy` is summed over the credits that are taken.
    const time::Usage& usage() const { return usage_; }

private:
    time::Pool pool_;
    time::Usage usage_;
};

} // namespace model::pcie

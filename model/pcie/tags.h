// Tags of a function: how many of its requests may wait for their completions at a time (PCIe 6.0 §2.2.6.2). A read
// takes one for each of its requests, from when it leaves until its last completion is there. Computes times; nobody is
// woken here.
#pragma once

#include "model/time/usage.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <vector>

namespace model::pcie {

class Tags {
public:
    /// count  at least 1
    Tags(std::string name, unsigned count)
        : meter_(std::move(name)), count_(count), free_(static_cast<int>(count)), ends_(std::bit_ceil(count)) {}

    /// How many requests a read may take at once; longer ones go in parts.
    unsigned most() const { return std::max(1u, count_ / 4); }
    /// When a read of so many requests leaves that could leave at `at`. There is one give() for each take().
    port::Time take(port::Time at, unsigned requests) {
        auto begin = at;
        while (free_ < static_cast<int>(requests) && first_ != last_) {
            const auto& end = ends_[first_++ & mask()];
            begin = std::max(begin, end.at);
            free_ += static_cast<int>(end.requests);
        }
        free_ -= static_cast<int>(requests); // below 0 where reads within this one have taken what there was
        meter_.count(at, begin);
        return begin;
    }
    /// Its last completion is there at `done`.
    void give(port::Time begin, port::Time done, unsigned requests) {
        meter_.add_busy((done - begin) * requests);
        if (last_ - first_ == ends_.size()) [[unlikely]]
            return static_cast<void>(free_ += static_cast<int>(requests));
        // Completions come in about the order of the requests, so the place is near the end.
        auto place = last_++;
        for (; place != first_ && ends_[(place - 1) & mask()].at > done; --place)
            ends_[place & mask()] = ends_[(place - 1) & mask()];
        ends_[place & mask()] = {done, requests};
    }
    /// When the next read could leave that is asked for at `now`.
    port::Time next(port::Time now) const {
        return free_ > 0 || first_ == last_ ? now : std::max(now, ends_[first_ & mask()].at);
    }

    time::Account account() const { return {meter_.name(), time::Kind::window, count_, meter_.usage()}; }

private:
    struct End {
        port::Time at{};
        unsigned requests = 0;
    };
    std::size_t mask() const { return ends_.size() - 1; }

    time::Meter meter_;
    unsigned count_;
    int free_;                         ///< those of reads in ends_ are not
    std::vector<End> ends_;            ///< a ring in order of time, a power of two
    std::size_t first_ = 0, last_ = 0; ///< of the ring; last_ - first_ reads are in it
};

} // namespace model::pcie

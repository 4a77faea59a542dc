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
        : meter_(std::move(name)), count_(count), unused_(count), ends_(std::bit_ceil(count)) {}

    /// How many requests a read may take at once; longer ones go in parts.
    unsigned most() const { return std::max(1u, count_ / 4); }
    /// When a read of so many requests leaves that could leave at `at`. There is one give() for each take().
    port::Time take(port::Time at, unsigned requests) {
        auto begin = at;
        auto missing = requests;
        for (unsigned taken; missing != 0; missing -= taken) {
            if (unused_ != 0) {
                unused_ -= taken = std::min(unused_, missing);
                continue;
            }
            if (first_ == last_)
                break;
            auto& end = ends_[first_ & mask()];
            begin = std::max(begin, end.at);
            end.tags -= taken = std::min(end.tags, missing);
            first_ += end.tags == 0;
        }
        borrowed_ += missing;
        meter_.count(at, begin);
        return begin;
    }
    /// Its last completion is there at `done`.
    void give(port::Time begin, port::Time done, unsigned requests) {
        meter_.add_busy((done - begin) * requests);
        const auto returned = std::min(borrowed_, requests);
        borrowed_ -= returned;
        if (requests == returned)
            return;
        // Completions come in about the order of the requests, so the place is near the end.
        auto place = last_++;
        for (; place != first_ && ends_[(place - 1) & mask()].at > done; --place)
            ends_[place & mask()] = ends_[(place - 1) & mask()];
        ends_[place & mask()] = {done, requests - returned};
    }
    /// When the next read could leave that is asked for at `now`.
    port::Time next(port::Time now) const {
        return unused_ != 0 || first_ == last_ ? now : std::max(now, ends_[first_ & mask()].at);
    }

    time::Account account() const { return {meter_.name(), time::Kind::window, count_, meter_.usage()}; }

private:
    struct End { ///< from `at` on these tags are free again
        port::Time at{};
        unsigned tags = 0;
    };
    std::size_t mask() const { return ends_.size() - 1; }

    time::Meter meter_;
    unsigned count_;
    unsigned unused_;                  ///< so far
    unsigned borrowed_ = 0;            ///< by reads within reads that had all tags: nobody would ever give these back
    std::vector<End> ends_;            ///< a ring in order of time; its size is a power of two
    std::size_t first_ = 0, last_ = 0; ///< ends_[first_, last_) have tags, at least one each
};

} // namespace model::pcie

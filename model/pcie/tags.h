// Tags of a function: how many of its requests may wait for their completions at a time (PCIe 6.0 §2.2.6.2). A read
// takes one for each of its requests, from when it leaves until its last completion is there. Computes times; nobody is
// woken here.
#pragma once

#include "model/time/pool.h"
#include "model/time/usage.h"

#include <algorithm>
#include <string>
#include <utility>

namespace model::pcie {

class Tags {
public:
    /// count  at least 1
    Tags(std::string name, unsigned count) : meter_(std::move(name)), count_(count), pool_(count) {}

    /// How many requests a read may take at once; longer ones go in parts.
    unsigned most() const { return std::max(1u, count_ / 4); }
    /// When a read of so many requests leaves that could leave at `at`. There is one give() for each take().
    port::Time take(port::Time at, unsigned requests) {
        const auto begin = pool_.take(at, requests);
        meter_.count(at, begin);
        return begin;
    }
    /// Its last completion is there at `done`.
    void give(port::Time begin, port::Time done, unsigned requests) {
        meter_.add_busy((done - begin) * requests);
        pool_.give(begin, done, requests);
    }
    /// When the next read could leave that is asked for at `now`.
    port::Time next(port::Time now) const { return pool_.next(now); }

    time::Account account() const { return {meter_.name(), time::Kind::window, count_, meter_.usage()}; }

private:
    time::Meter meter_;
    unsigned count_;
    time::Pool pool_;
};

} // namespace model::pcie

// Locks of atomics. A card makes an atomic of a read and a write of its own and keeps others away meanwhile, by one of
// a number of locks that the low bits of the address choose (Kalia, Kaminsky, Andersen, "Design Guidelines for High
// Performance RDMA Systems", ATC 2016, section 5.3: Connect-IB has 4096, ConnectX-3 one).
#pragma once

#include "abi/types.h"
#include "model/hca/config.h"
#include "model/time/usage.h"

#include <algorithm>
#include <vector>

namespace model::hca::memory {

class AtomicLocks {
public:
    explicit AtomicLocks(const HcaConfig& config)
        : free_from_(config.timed ? std::max(1u, config.atomic_buckets) : 0), meter_("atomic locks") {}

    /// When the lock of this address is free for who comes at `at`; it must be released.
    port::Time take(abi::BusAddress address, port::Time at) {
        if (free_from_.empty())
            return at;
        const auto free = lock(address);
        used_ += free == port::Time{};
        const auto begin = std::max(at, free);
        meter_.count(at, begin);
        return begin;
    }
    /// The value that was read since `begin` is there and its successor on the way.
    void release(abi::BusAddress address, port::Time begin, port::Time done) {
        if (free_from_.empty())
            return;
        lock(address) = done;
        meter_.add_busy(done - begin);
    }

    void reset() {
        for (auto& free : free_from_)
            free = std::min(free, port::Time{1}); // one that has been used stays counted
    }
    /// Of the locks that have been taken: the others could not have helped.
    time::Account account() const { return {meter_.name(), time::Kind::server, std::max(1u, used_), meter_.usage()}; }

private:
    port::Time& lock(abi::BusAddress address) { return free_from_[address.value % free_from_.size()]; }

    std::vector<port::Time> free_from_; ///< by low address bits; none without timing
    unsigned used_ = 0;
    time::Meter meter_;
};

} // namespace model::hca::memory

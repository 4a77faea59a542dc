// Queue pairs that have work and no turn before a time: their processing unit has enough to do until then.
#pragma once

#include "abi/types.h"
#include "model/hca/objects.h"
#include "model/port/time.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

namespace model::hca::dispatch {

class Resting {
public:
    void add(queue::QueuePair& qp, port::Time until) {
        if (std::exchange(qp.requester.is_resting, true))
            return;
        resting_.push_back({until, ++order_, qp.number});
        std::ranges::push_heap(resting_, std::greater{});
    }
    /// Calls `wake(qp)` for those whose time has come and that still are.
    template <class Wake> void wake_due(port::Time now, const Objects& objects, Wake&& wake) {
        while (next() <= now) {
            std::ranges::pop_heap(resting_, std::greater{});
            const auto number = resting_.back().number;
            resting_.pop_back();
            if (auto* qp = objects.queue_pairs.find(number.value); qp != nullptr) {
                qp->requester.is_resting = false;
                wake(*qp);
            }
        }
    }
    port::Time next() const { return resting_.empty() ? port::never : resting_.front().until; }
    void clear() { resting_.clear(); }

private:
    struct Rest {
        port::Time until;
        std::uint64_t order; ///< of those with the same time, who came first
        abi::Qpn number;
        bool operator>(const Rest& other) const { return std::tie(until, order) > std::tie(other.until, other.order); }
    };
    std::vector<Rest> resting_; ///< a heap
    std::uint64_t order_ = 0;
};

} // namespace model::hca::dispatch

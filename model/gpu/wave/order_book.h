// What became of the order in which a grid's threads reached memory, for whoever explains what came of it: stores that
// were held, and loads that gave older bytes than memory had. Each thread has its own pages in it, so that one that
// does a lot (or looks at the same old line again and again) pushes out nothing of another's.
#pragma once

#include "model/gpu/memory/access.h"

#include <algorithm>
#include <deque>
#include <vector>

namespace model::gpu::wave {

/// A store that was held.
struct LateStore {
    unsigned thread = 0;
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    port::Time issued{}, performed{};
};
/// A load that gave older bytes than memory had.
struct StaleLoad {
    unsigned thread = 0;
    std::uint64_t address = 0;
    port::Time at{};       ///< the first time
    bool is_early = false; ///< it was done before the poll that came first; otherwise a cache answered
    memory::Outcome outcome{};
};

class OrderBook {
public:
    static constexpr std::size_t most = 1024; ///< of a kind and thread; the last ones stay

    explicit OrderBook(unsigned threads) : pages_(threads) {}

    void note(const LateStore& store) { keep(pages_[store.thread].stores, store); }
    void note(const StaleLoad& load) {
        auto& loads = pages_[load.thread].loads;
        early_loads_ += load.is_early;
        const auto is_again = [&](const StaleLoad& before) {
            return before.address == load.address && before.is_early == load.is_early &&
                   before.outcome.filled == load.outcome.filled;
        };
        if (std::none_of(loads.rbegin(), loads.rend(), is_again))
            keep(loads, load);
    }

    /// In the order in which they were performed.
    const std::deque<LateStore>& late_stores(unsigned thread) const { return pages_[thread].stores; }
    const std::deque<StaleLoad>& stale_loads(unsigned thread) const { return pages_[thread].loads; }
    std::uint64_t early_loads() const { return early_loads_; } ///< of all threads, and those that were not kept

private:
    template <class T> static void keep(std::deque<T>& list, const T& one) {
        if (list.size() == most)
            list.pop_front();
        list.push_back(one);
    }
    struct Page {
        std::deque<LateStore> stores;
        std::deque<StaleLoad> loads;
    };
    std::vector<Page> pages_; ///< by thread
    std::uint64_t early_loads_ = 0;
};

} // namespace model::gpu::wave

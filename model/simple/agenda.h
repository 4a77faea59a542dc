// What of the card waits for a time: queue pairs that may have something to do then, and deadlines for
// acknowledgements. Entries of queue pairs that have gone, or have been woken before, are passed over.
#pragma once

#include "model/port/clock.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace model::simple {

class Agenda {
public:
    enum class What : std::uint8_t { work, deadline };
    struct Entry {
        port::Time at{};
        std::uint64_t order = 0; ///< of entries of the same time
        std::uint64_t serial = 0;
        std::uint32_t qpn = 0;
        What what{};
        bool operator>(const Entry& other) const { return at != other.at ? at > other.at : order > other.order; }
    };

    explicit Agenda(port::Clock& clock) : clock_(clock) {}

    port::Time now() const { return clock_.now(); }
    /// Only to be woken then.
    void wake_at(port::Time at) { clock_.wake_at(at); }
    void add(port::Time at, std::uint32_t qpn, std::uint64_t serial, What what) {
        entries_.push_back({at, order_++, serial, qpn, what});
        std::ranges::push_heap(entries_, std::greater{});
        clock_.wake_at(at);
    }
    /// Calls `due(Entry)` for each entry whose time has come, in order, and asks for the time of the next one.
    template <class Due> void run(port::Time now, Due&& due) {
        while (!entries_.empty() && entries_.front().at <= now) {
            std::ranges::pop_heap(entries_, std::greater{});
            const auto entry = entries_.back();
            entries_.pop_back();
            due(entry);
        }
        if (!entries_.empty())
            clock_.wake_at(entries_.front().at);
    }
    void clear() { entries_.clear(); }

private:
    port::Clock& clock_;
    std::vector<Entry> entries_; ///< a heap, the earliest first
    std::uint64_t order_ = 0;
};

} // namespace model::simple

// Finds doorbells by the records of queues whose UAR pages a client has mapped: stores to such pages reach nobody. Each
// look compares counters in the client's memory with what was seen last, and rings where they differ; doorbells between
// two looks are one. Looks at records that lie in files of the client; others it counts. No SystemC, no sockets.
#pragma once

#include "model/pcie/bridge_space.h"
#include "model/port/doorbell_watch.h"
#include "platform/bridge/vfio_user/guest_memory.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace platform::bridge::vfio_user {

class DoorbellPoller final : public model::port::DoorbellWatch {
public:
    /// `memory` is that of the client, and outlives it. Nothing is looked at before set_on(true).
    explicit DoorbellPoller(const GuestMemory& memory) : memory_(memory) {}

    /// Whether the client has the pages. A client that has not rings by messages.
    void set_on(bool is_on) { is_on_ = is_on; }
    bool is_on() const { return is_on_; }
    /// Records that are watched, and those of them that cannot be read: nobody hears their doorbells.
    std::size_t count() const { return records_.size(); }
    std::size_t unreadable() const { return unreadable_; }
    /// Doorbells found.
    std::uint64_t found() const { return found_; }

    // DoorbellWatch
    void opened(std::uint64_t key, const model::port::DoorbellRecord& record) override;
    void closed(std::uint64_t key) override;
    void closed_all() override;

    /// Looks at `most` records, from where the last call has ended, once at each. Calls `ring(offset, store)` for those
    /// that have moved. Returns whether there were any. `ring` opens and closes nothing.
    template <class Ring> bool look(std::size_t most, Ring&& ring) {
        const auto before = found_;
        for (auto left = is_on_ ? std::min(most, records_.size()) : 0; left != 0; --left) {
            if (next_ >= records_.size())
                next_ = 0;
            look_at(records_[next_++], ring);
        }
        return found_ != before;
    }
    template <class Ring> void look_at_all(Ring&& ring) { look(records_.size(), ring); }
    /// The same for records in a range that the client is about to take away.
    template <class Ring> bool look_within(model::pcie::Range range, Ring&& ring) {
        const auto before = found_;
        if (is_on_)
            for_each_within(range, [&](Watched& record) { look_at(record, ring); });
        return found_ != before;
    }

    /// The client has given memory, or is about to take it away: pointers into it are found, or dropped.
    void mapped(model::pcie::Range range);
    void unmapped(model::pcie::Range range);

private:
    struct Watched {
        std::uint32_t* memory; ///< nullptr: cannot be read
        std::uint32_t seen;    ///< in memory order
        std::uint64_t key;
        model::port::DoorbellRecord record;
        std::multimap<std::uint64_t, std::uint64_t>::iterator place; ///< in by_address_
    };

    template <class Ring> void look_at(Watched& watched, Ring&& ring) {
        if (watched.memory == nullptr)
            return;
        // Record before WQE: what the counter counts was written before it, and is read after it.
        const auto now = std::atomic_ref(*watched.memory).load(std::memory_order_acquire);
        if (now == watched.seen) [[likely]]
            return;
        watched.seen = now;
        ++found_;
        ring(watched.record.doorbell, watched.record.store(watched.record.number, in_memory_order(now)));
    }
    template <class Visit> void for_each_within(model::pcie::Range range, Visit&& visit) {
        for (auto at = by_address_.lower_bound(range.begin); at != by_address_.end() && at->first < range.end; ++at)
            visit(records_[index_.at(at->second)]);
    }
    /// Counters are big endian; from the host's order into theirs and back.
    static std::uint32_t in_memory_order(std::uint32_t value) {
        return std::endian::native == std::endian::little ? std::byteswap(value) : value;
    }
    void resolve(Watched& watched);
    void forget(Watched& watched);

    const GuestMemory& memory_;
    bool is_on_ = false;
    std::vector<Watched> records_; ///< in no order
    std::size_t next_ = 0;
    std::unordered_map<std::uint64_t, std::size_t> index_;   ///< in records_, by key
    std::multimap<std::uint64_t, std::uint64_t> by_address_; ///< keys
    std::size_t unreadable_ = 0;
    std::uint64_t found_ = 0;
};

} // namespace platform::bridge::vfio_user

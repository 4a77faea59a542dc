// Device writes as the processor sees them. Untimed, bytes are in memory at once. With timed links, a control write (a
// completion, an event, a counter) is held until its bytes have crossed the links, so that a polling driver sees it
// when silicon would show it; device reads see held writes. Payload is not held: its completion comes after it anyway.
#pragma once

#include "model/port/time.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace model::pcie {

class PostedWrites {
public:
    virtual ~PostedWrites() = default;

    /// A write is in memory.
    void note() {
        ++count_;
        if (watchers_ != 0) [[unlikely]]
            wake();
    }
    /// Holds a write until `due`.
    void post(std::byte* to, std::span<const std::byte> from, port::Time due);
    bool has_held() const { return !order_.empty(); }
    /// When the last of the writes held so far is in memory, or was.
    port::Time landed_at() const { return landed_at_; }
    /// Brings held writes to [begin, begin + length) into memory now: a device is about to read there.
    void settle(const std::byte* begin, std::size_t length);
    /// Brings everything due at `now` into memory; returns when to call again, or port::never.
    port::Time apply(port::Time now);

    /// Device writes seen so far; changes whenever memory may have changed.
    std::uint64_t count() const { return count_; }
    /// While somebody watches, each write calls wake().
    void watch(bool on) { on ? ++watchers_ : --watchers_; }

protected:
    virtual void wake() = 0;
    /// Asks for apply() at `due`; called when that is the earliest time of all held writes.
    virtual void schedule(port::Time due) = 0;

private:
    struct Held {
        std::byte* to = nullptr;
        std::vector<std::byte> bytes; ///< keeps its capacity from write to write
    };
    struct Due {
        port::Time time;
        std::uint64_t sequence;
        std::uint32_t slot;
        bool operator<(const Due& other) const { // a heap has its greatest in front: the earliest
            return time != other.time ? time > other.time : sequence > other.sequence;
        }
    };
    void store(std::uint32_t slot);

    std::uint64_t count_ = 0, sequence_ = 0;
    unsigned watchers_ = 0;
    port::Time landed_at_{};
    std::vector<Due> order_; ///< heap
    std::vector<Held> slots_;
    std::vector<std::uint32_t> free_;
};

} // namespace model::pcie

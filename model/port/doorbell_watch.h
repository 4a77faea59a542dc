// Doorbells without doorbells: a device tells which counters in memory software moves before it rings, and somebody
// outside of it who can read that memory at no cost rings in software's place. The device sees a store as ever.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace model::port {

/// A counter in memory, and the store that software makes when it has moved it.
struct DoorbellRecord {
    std::uint64_t address = 0;  ///< bus address of its 4 bytes, big endian
    std::uint64_t doorbell = 0; ///< where in BAR 0 the store of 8 bytes goes
    std::uint32_t number = 0;   ///< of the queue
    std::uint32_t seen = 0;     ///< the value that needs no doorbell
    /// `seen` is a value of which software has none. It has to be put into memory before software goes on: its first
    /// value may be what stands there already.
    bool is_marked = false;
    /// The store for a value.
    std::array<std::byte, 8> (*store)(std::uint32_t number, std::uint32_t value) = nullptr;
};

class DoorbellWatch {
public:
    virtual ~DoorbellWatch() = default;
    /// From now on software may move the counter. Has no effect where `key` is open already.
    virtual void opened(std::uint64_t key, const DoorbellRecord& record) = 0;
    /// From now on it means nothing. Has no effect where `key` is not open.
    virtual void closed(std::uint64_t key) = 0;
    virtual void closed_all() = 0;
};

} // namespace model::port

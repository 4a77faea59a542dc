// Addresses for regions that have none of their own. Host memory is registered at its bus address. Memory of a peer may
// lie in several ranges of the bus, so work requests name it by a range of this space. Hands out numbers, touches no
// memory.
#pragma once

#include "abi/types.h"
#include "sw/base/result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

namespace sw::memory {

class IovaSpace {
public:
    /// `begin` and `end` bound what is handed out.
    explicit IovaSpace(std::uint64_t begin = 1ull << 44, std::uint64_t end = 1ull << 47);

    /// The lowest free range of `size` bytes whose begin equals `congruent` modulo `alignment` (a power of two). A
    /// region can use pages of a size in which its iova and its bus address have the same offset. Takes as long as
    /// there are sizes of holes, however many ranges are in use.
    Result<abi::Iova> allocate(std::uint64_t size, std::uint64_t alignment, std::uint64_t congruent = 0);
    /// Reserves the part of [begin, end) that lies in this space; nothing of it may be handed out yet. It is released
    /// by its first address.
    void reserve(std::uint64_t begin, std::uint64_t end);
    void release(abi::Iova start);
    std::size_t used_ranges() const { return used_.size(); }
    /// Free ranges that allocate() has looked at so far.
    std::uint64_t looked_at() const { return looked_at_; }

private:
    using Ranges = std::map<std::uint64_t, std::uint64_t>; ///< start -> end
    void add_hole(std::uint64_t start, std::uint64_t end);
    void remove_hole(Ranges::iterator hole);
    /// [start, end) lies in this hole and is free no more.
    void take(Ranges::iterator hole, std::uint64_t start, std::uint64_t end);

    std::uint64_t begin_, end_;
    Ranges used_, holes_;
    std::map<std::uint64_t, std::set<std::uint64_t>> holes_by_size_; ///< where they start
    std::uint64_t looked_at_ = 0;
};

} // namespace sw::memory

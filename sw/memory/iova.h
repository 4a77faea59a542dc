// Addresses for regions that have none of their own. Host memory is registered at its bus address. Memory of a peer may
// lie in several ranges of the bus, so work requests name it by a range of this space. Hands out numbers, touches no
// memory.
#pragma once

#include "abi/types.h"
#include "sw/base/result.h"

#include <cstdint>
#include <map>

namespace sw::memory {

class IovaSpace {
public:
    /// `begin` and `end` bound what is handed out.
    explicit IovaSpace(std::uint64_t begin = 1ull << 44, std::uint64_t end = 1ull << 47) : begin_(begin), end_(end) {}

    /// The lowest free range of `size` bytes whose begin equals `congruent` modulo `alignment` (a power of two). A
    /// region can use pages of a size in which its iova and its bus address have the same offset.
    Result<abi::Iova> allocate(std::uint64_t size, std::uint64_t alignment, std::uint64_t congruent = 0);
    /// Reserves the part of [begin, end) that lies in this space; nothing of it may be handed out yet. It is released
    /// by its first address.
    void reserve(std::uint64_t begin, std::uint64_t end);
    void release(abi::Iova start);
    std::size_t used_ranges() const { return used_.size(); }

private:
    std::uint64_t begin_, end_;
    std::map<std::uint64_t, std::uint64_t> used_; // start -> end
};

} // namespace sw::memory

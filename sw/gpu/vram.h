// The memory of a GPU handed out to buffers. Takes the size of the VRAM, gives ranges of whole blocks, lowest first; a
// buffer larger than every hole is made of several ranges, and one larger than a fragment where fragments are asked
// for. Knows offsets only, no BAR and no bus.
#pragma once

#include "sw/base/result.h"

#include <cstdint>
#include <map>
#include <vector>

namespace sw::gpu {

inline constexpr std::uint64_t vram_block = 64 * 1024;

/// Consecutive bytes of VRAM.
struct VramRange {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    bool operator==(const VramRange&) const = default;
};

struct VramLayout {
    std::uint64_t block_bytes = vram_block; ///< a multiple of 4 KiB
    /// Buffers are made of ranges of at most so many bytes (whole blocks), taken alternately from the low and the high
    /// end of the free memory, so that neighbours in a buffer are not neighbours in VRAM. 0: as few ranges as possible.
    std::uint64_t fragment_bytes = 0;
};

class VramAllocator {
public:
    /// All of [0, size) is free; a tail smaller than a block is never used.
    explicit VramAllocator(std::uint64_t size, VramLayout layout = {});

    /// Whole blocks covering `bytes`. Without fragments one range, the first that fits, when there is one; else the
    /// holes from the lowest up.
    Result<std::vector<VramRange>> allocate(std::uint64_t bytes);
    /// Gives ranges of allocate() back; touching holes become one.
    void release(const std::vector<VramRange>& ranges);
    std::uint64_t free_bytes() const { return free_bytes_; }
    std::uint64_t total_bytes() const { return total_; }
    std::uint64_t block_bytes() const { return layout_.block_bytes; }

private:
    using Holes = std::map<std::uint64_t, std::uint64_t>; ///< offset -> size
    VramRange take(Holes::iterator hole, std::uint64_t bytes);
    VramRange take_end(Holes::iterator hole, std::uint64_t bytes);

    VramLayout layout_;
    Holes holes_;
    std::uint64_t total_;
    std::uint64_t free_bytes_;
};

} // namespace sw::gpu

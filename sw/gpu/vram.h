// The memory of a GPU handed out to buffers. Takes the size of the VRAM, gives ranges of 64 KiB blocks, lowest first; a
// buffer larger than every hole is made of several ranges. Knows offsets only, no BAR and no bus.
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

class VramAllocator {
public:
    /// All of [0, size) is free; a tail smaller than a block is never used.
    explicit VramAllocator(std::uint64_t size);

    /// Whole blocks covering `bytes`: one range, the first that fits, when there is one; else the holes from the lowest
    /// up.
    Result<std::vector<VramRange>> allocate(std::uint64_t bytes);
    /// Gives ranges of allocate() back; touching holes become one.
    void release(const std::vector<VramRange>& ranges);
    std::uint64_t free_bytes() const { return free_bytes_; }
    std::uint64_t total_bytes() const { return total_; }

private:
    VramRange take(std::map<std::uint64_t, std::uint64_t>::iterator hole, std::uint64_t bytes);

    std::map<std::uint64_t, std::uint64_t> holes_; // offset -> size
    std::uint64_t total_;
    std::uint64_t free_bytes_;
};

} // namespace sw::gpu

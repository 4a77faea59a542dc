#include "sw/gpu/vram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace sw::gpu {

VramAllocator::VramAllocator(std::uint64_t size) : total_(size / vram_block * vram_block), free_bytes_(total_) {
    if (total_)
        holes_.emplace(0, total_);
}

VramRange VramAllocator::take(std::map<std::uint64_t, std::uint64_t>::iterator hole, std::uint64_t bytes) {
    const auto [offset, size] = *hole;
    const auto taken = std::min(size, bytes);
    holes_.erase(hole);
    if (size > taken)
        holes_.emplace(offset + taken, size - taken);
    free_bytes_ -= taken;
    return {offset, taken};
}

Result<std::vector<VramRange>> VramAllocator::allocate(std::uint64_t bytes) {
    if (bytes == 0)
        return failure(EINVAL, "allocate VRAM: 0 bytes");
    if (bytes > free_bytes_)
        return failure(
            ENOMEM, fmt::format("allocate VRAM: {:#x} bytes wanted, {:#x} of {:#x} free", bytes, free_bytes_, total_));
    auto left = (bytes + vram_block - 1) / vram_block * vram_block;
    const auto fits = std::ranges::find_if(holes_, [&](const auto& hole) { return hole.second >= left; });
    if (fits != holes_.end())
        return std::vector{take(fits, left)};
    std::vector<VramRange> ranges;
    while (left) {
        ranges.push_back(take(holes_.begin(), left));
        left -= ranges.back().size;
    }
    return ranges;
}

void VramAllocator::release(const std::vector<VramRange>& ranges) {
    for (const auto& range : ranges) {
        auto [offset, size] = range;
        free_bytes_ += size;
        const auto next = holes_.lower_bound(offset);
        if (next != holes_.end() && next->first == offset + size) {
            size += next->second;
            holes_.erase(next);
        }
        const auto after = holes_.lower_bound(offset);
        if (after != holes_.begin()) {
            const auto before = std::prev(after);
            if (before->first + before->second == offset) {
                before->second += size;
                continue;
            }
        }
        holes_.emplace(offset, size);
    }
}

} // namespace sw::gpu

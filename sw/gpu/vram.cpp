#include "sw/gpu/vram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace sw::gpu {

VramAllocator::VramAllocator(std::uint64_t size, VramLayout layout)
    : layout_(layout), total_(size / layout.block_bytes * layout.block_bytes), free_bytes_(total_) {
    if (total_)
        holes_.emplace(0, total_);
}

VramRange VramAllocator::take(Holes::iterator hole, std::uint64_t bytes) {
    const auto [offset, size] = *hole;
    const auto taken = std::min(size, bytes);
    holes_.erase(hole);
    if (size > taken)
        holes_.emplace(offset + taken, size - taken);
    free_bytes_ -= taken;
    return {offset, taken};
}

VramRange VramAllocator::take_end(Holes::iterator hole, std::uint64_t bytes) {
    const auto taken = std::min(hole->second, bytes);
    hole->second -= taken;
    const auto offset = hole->first + hole->second;
    if (hole->second == 0)
        holes_.erase(hole);
    free_bytes_ -= taken;
    return {offset, taken};
}

Result<std::vector<VramRange>> VramAllocator::allocate(std::uint64_t bytes) {
    if (bytes == 0)
        return failure(EINVAL, "allocate VRAM: 0 bytes");
    if (bytes > free_bytes_)
        return failure(
            ENOMEM, fmt::format("allocate VRAM: {:#x} bytes wanted, {:#x} of {:#x} free", bytes, free_bytes_, total_));
    const auto block = layout_.block_bytes;
    auto left = (bytes - 1) / block * block + block; // no more than is free, so it does not wrap
    if (left > free_bytes_)
        return failure(ENOMEM, fmt::format("allocate VRAM: {:#x} bytes in blocks of {:#x} wanted, {:#x} free", bytes,
                                           block, free_bytes_));
    if (layout_.fragment_bytes != 0) {
        const auto fragment = std::max(layout_.fragment_bytes / block, std::uint64_t{1}) * block;
        std::vector<VramRange> ranges;
        for (bool is_low = true; left != 0; is_low = !is_low) {
            const auto bytes_now = std::min(fragment, left);
            ranges.push_back(is_low ? take(holes_.begin(), bytes_now) : take_end(std::prev(holes_.end()), bytes_now));
            left -= ranges.back().size;
        }
        return ranges;
    }
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

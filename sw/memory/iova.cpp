#include "sw/memory/iova.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <iterator>
#include <optional>

namespace sw::memory {

IovaSpace::IovaSpace(std::uint64_t begin, std::uint64_t end) : begin_(begin), end_(end) { add_hole(begin, end); }

Result<abi::Iova> IovaSpace::allocate(std::uint64_t size, std::uint64_t alignment, std::uint64_t congruent) {
    if (size == 0 || !std::has_single_bit(alignment))
        return failure(EINVAL, fmt::format("allocate an iova range: {:#x} bytes aligned to {:#x}", size, alignment));
    std::optional<std::uint64_t> lowest;
    for (auto sizes = holes_by_size_.lower_bound(size); sizes != holes_by_size_.end(); ++sizes)
        for (const auto start : sizes->second) {
            ++looked_at_;
            if (lowest && start >= *lowest)
                break;
            const auto skipped = (congruent - start) & (alignment - 1);
            if (skipped > sizes->first - size)
                continue;
            if (!lowest || start + skipped < *lowest)
                lowest = start + skipped;
            break;
        }
    if (!lowest)
        return failure(ENOMEM, fmt::format("allocate an iova range: no {:#x} bytes left below {:#x}", size, end_));
    take(std::prev(holes_.upper_bound(*lowest)), *lowest, *lowest + size);
    used_.emplace(*lowest, *lowest + size);
    return abi::Iova{*lowest};
}

void IovaSpace::reserve(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end_ || end <= begin_)
        return;
    const auto start = std::max(begin, begin_), stop = std::min(end, end_);
    const auto hole = holes_.upper_bound(start);
    if (hole == holes_.begin() || std::prev(hole)->second < stop || !used_.emplace(start, stop).second)
        return;
    take(std::prev(hole), start, stop);
}

void IovaSpace::release(abi::Iova start) {
    const auto range = used_.find(start.value);
    if (range == used_.end())
        return;
    auto begin = range->first, end = range->second;
    used_.erase(range);
    if (const auto next = holes_.find(end); next != holes_.end()) {
        end = next->second;
        remove_hole(next);
    }
    if (const auto after = holes_.lower_bound(begin); after != holes_.begin() && std::prev(after)->second == begin) {
        begin = std::prev(after)->first;
        remove_hole(std::prev(after));
    }
    add_hole(begin, end);
}

void IovaSpace::add_hole(std::uint64_t start, std::uint64_t end) {
    if (start >= end)
        return;
    holes_.emplace(start, end);
    holes_by_size_[end - start].insert(start);
}

void IovaSpace::remove_hole(Ranges::iterator hole) {
    const auto sizes = holes_by_size_.find(hole->second - hole->first);
    sizes->second.erase(hole->first);
    if (sizes->second.empty())
        holes_by_size_.erase(sizes);
    holes_.erase(hole);
}

void IovaSpace::take(Ranges::iterator hole, std::uint64_t start, std::uint64_t end) {
    const auto [before, after] = *hole;
    remove_hole(hole);
    add_hole(before, start);
    add_hole(end, after);
}

} // namespace sw::memory

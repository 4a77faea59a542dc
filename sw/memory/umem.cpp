#include "sw/memory/umem.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace sw::memory {

void Umem::append(BusRange range) {
    length_ += range.size;
    if (!ranges_.empty() && ranges_.back().bus + ranges_.back().size == range.bus)
        ranges_.back().size += range.size;
    else
        ranges_.push_back(range);
}

Result<Umem> Umem::from_host(const transport::DmaMemory& memory, std::uint64_t offset, std::uint64_t length) {
    if (length == 0 || offset > memory.size || length > memory.size - offset)
        return failure(EINVAL, fmt::format("register host memory: [{:#x}, +{:#x}) leaves a buffer of {:#x} bytes",
                                           offset, length, memory.size));
    Umem umem;
    umem.append({memory.bus + offset, length});
    return umem;
}

Umem Umem::from_ranges(const std::vector<BusRange>& ranges) {
    Umem umem;
    for (const auto& range : ranges)
        umem.append(range);
    return umem;
}

std::optional<unsigned> Umem::best_page_size(abi::Iova iova, PageSizes sizes) const {
    // A set bit is an address bit in which iova and bus differ, or in which a range ends inside: the page must be
    // smaller.
    std::uint64_t obstacles = 0;
    auto va = iova.value;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
        obstacles |= ranges_[i].bus ^ va;
        va += ranges_[i].size;
        if (i + 1 != ranges_.size())
            obstacles |= va;
    }
    // A page larger than needed to span the region gains nothing and describes memory that is not ours.
    const auto last = iova.value + (length_ ? length_ - 1 : 0);
    const auto span = static_cast<unsigned>(std::bit_width(iova.value ^ last));
    const auto limit = std::clamp(span, sizes.log_min, std::max(sizes.log_min, sizes.log_max));
    const auto log = std::min<unsigned>(limit, static_cast<unsigned>(std::countr_zero(obstacles)));
    if (log < sizes.log_min)
        return std::nullopt;
    return log;
}

std::vector<std::uint64_t> Umem::pages(unsigned log_page_size) const {
    const auto size = std::uint64_t{1} << log_page_size;
    std::vector<std::uint64_t> list;
    for (const auto& range : ranges_)
        for (auto page = range.bus & ~(size - 1); page < range.bus + range.size; page += size)
            list.push_back(page);
    return list;
}

} // namespace sw::memory

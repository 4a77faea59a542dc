#include "sw/memory/iova.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace sw::memory {

Result<abi::Iova> IovaSpace::allocate(std::uint64_t size, std::uint64_t alignment, std::uint64_t congruent) {
    if (size == 0 || !std::has_single_bit(alignment))
        return failure(EINVAL, fmt::format("allocate an iova range: {:#x} bytes aligned to {:#x}", size, alignment));
    const auto mask = alignment - 1;
    auto place = begin_;
    const auto next_candidate = [&](std::uint64_t from) { return from + ((congruent - from) & mask); };
    for (const auto& [start, end] : used_) {
        const auto candidate = next_candidate(place);
        if (candidate >= place && candidate < start && start - candidate >= size)
            break;
        place = end;
    }
    const auto candidate = next_candidate(place);
    if (candidate < place || candidate > end_ || end_ - candidate < size)
        return failure(ENOMEM, fmt::format("allocate an iova range: no {:#x} bytes left below {:#x}", size, end_));
    used_.emplace(candidate, candidate + size);
    return abi::Iova{candidate};
}

void IovaSpace::reserve(std::uint64_t begin, std::uint64_t end) {
    if (begin < end_ && end > begin_)
        used_.emplace(std::max(begin, begin_), std::min(end, end_));
}

void IovaSpace::release(abi::Iova start) { used_.erase(start.value); }

} // namespace sw::memory

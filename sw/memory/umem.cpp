#include "sw/memory/umem.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace sw::memory {

Umem::Umem(Umem&& other) noexcept
    : ranges_(std::move(other.ranges_)), length_(std::exchange(other.length_, 0)),
      importer_(std::exchange(other.importer_, nullptr)), mapped_(std::exchange(other.mapped_, {})),
      handle_(std::move(other.handle_)) {}

Umem& Umem::operator=(Umem&& other) noexcept {
    std::swap(ranges_, other.ranges_);
    std::swap(length_, other.length_);
    std::swap(importer_, other.importer_);
    std::swap(mapped_, other.mapped_);
    std::swap(handle_, other.handle_);
    return *this;
}

Umem::~Umem() {
    for (const auto& range : mapped_)
        importer_->unmap_peer(range.bus, range.size);
}

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

Result<Umem> Umem::from_export(transport::Transport& importer, DmaBufHandle handle, std::uint64_t offset,
                               std::uint64_t length) {
    if (!handle)
        return failure(EBADF, "register exported memory: no handle");
    if (length == 0 || offset > handle->size() || length > handle->size() - offset)
        return failure(EINVAL, fmt::format("register exported memory: [{:#x}, +{:#x}) leaves an export of {:#x} bytes",
                                           offset, length, handle->size()));
    Umem umem;
    umem.importer_ = &importer;
    std::uint64_t skip = offset, left = length;
    for (const auto& range : handle->ranges()) {
        if (skip >= range.size) {
            skip -= range.size;
            continue;
        }
        const auto take = std::min(range.size - skip, left);
        const auto address = importer.map_peer(range.bus + skip, take);
        if (!address)
            return failure(address.error().code, fmt::format("register exported memory: map {:#x}+{:#x}: {}",
                                                             range.bus + skip, take, address.error().what));
        umem.mapped_.push_back({*address, take});
        umem.append({*address, take});
        skip = 0;
        left -= take;
        if (left == 0)
            break;
    }
    umem.handle_ = std::move(handle);
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

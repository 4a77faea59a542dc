#include "sw/memory/iommu/file_mapping.h"

#include "sw/memory/iommu/unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace sw::memory::iommu {

namespace {

/// The pieces of [offset, +bytes) of a list.
std::vector<BusRange> cut(const PhysicalList& list, std::uint64_t offset, std::uint64_t bytes) {
    std::vector<BusRange> pieces;
    std::uint64_t position = 0;
    for (const auto& range : list) {
        const auto begin = std::max(position, offset), end = std::min(position + range.size, offset + bytes);
        if (begin < end)
            pieces.push_back({range.bus + (begin - position), end - begin});
        position += range.size;
    }
    return pieces;
}

} // namespace

Result<std::unique_ptr<FileMapping>> FileMapping::create(AddressSpace& space, DmaBufHandle buffer, std::uint64_t offset,
                                                         std::uint64_t bytes, const Options& options) {
    const auto refuse = [&](int code, std::string_view why) {
        return failure(code, fmt::format("map a dma-buf: [{:#x}, +{:#x}): {}", offset, bytes, why));
    };
    if (!buffer)
        return refuse(EBADF, "there is no buffer");
    if (bytes == 0 || (offset | bytes) % page_bytes != 0)
        return refuse(EINVAL, "offset and length are multiples of 4 KiB, and some");
    if (bytes > buffer->size() || offset > buffer->size() - bytes)
        return refuse(EOVERFLOW, fmt::format("it leaves a buffer of {:#x} bytes", buffer->size()));
    std::unique_ptr<FileMapping> mapping(new FileMapping(space, bytes));
    Importer importer{.name = "address space", .allow_peer2peer = true, .accepts = {{MappingType::physical_list}}};
    // A pin may move the buffer to a place with physical addresses; before the first pin there is nothing to take back.
    importer.move_notify = [own = mapping.get()](const Lock& lock) {
        if (own->is_pinned_ && own->unmap(lock))
            own->is_revoked_ = true;
    };
    auto& machine = space.unit().machine();
    auto attachment = buffer->attach(machine, std::move(importer));
    if (!attachment)
        return std::unexpected(std::move(attachment.error()));
    mapping->attachment_ = std::move(*attachment);
    auto lock = buffer->reservation().lock(machine);
    if (!lock)
        return std::unexpected(std::move(lock.error()));
    auto mapped = mapping->map(*lock, offset, options);
    lock->unlock();
    if (!mapped)
        return std::unexpected(std::move(mapped.error()));
    return mapping;
}

Result<void> FileMapping::map(const Lock& lock, std::uint64_t offset, const Options& options) {
    if (auto pinned = attachment_->pin(lock); !pinned)
        return pinned;
    is_pinned_ = true;
    const auto list = attachment_->map_physical(lock);
    if (!list)
        return std::unexpected(list.error());
    list_ = *list;
    // The addresses are valid now; the contents may not have arrived yet.
    if (auto there = attachment_->buffer()->reservation().wait(attachment_->device(), Usage::kernel); !there)
        return there;
    const auto place = space_.map_list(cut(*list_, offset, bytes_), options.iova, options.rights);
    if (!place)
        return std::unexpected(place.error());
    iova_ = *place;
    is_in_space_ = true;
    return {};
}

/// With an Error devices may still reach the buffer: it stays mapped and pinned, and the exporter sees that.
Result<void> FileMapping::unmap(const Lock& lock) {
    if (is_in_space_)
        if (auto gone = space_.unmap(iova_, bytes_); !gone)
            return gone;
    is_in_space_ = false;
    if (list_)
        if (auto given_back = attachment_->unmap_physical(lock, std::exchange(list_, nullptr)); !given_back)
            return given_back;
    if (std::exchange(is_pinned_, false))
        return attachment_->unpin(lock);
    return {};
}

FileMapping::~FileMapping() {
    if (!attachment_)
        return;
    if (auto lock = attachment_->buffer()->reservation().lock(attachment_->device()))
        (void)unmap(*lock);
    (void)attachment_->detach();
}

} // namespace sw::memory::iommu

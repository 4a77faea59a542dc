// A part of a dma-buf in an address space (iommufd's IOMMU_IOAS_MAP_FILE): devices attached to the space reach the
// buffer's memory by addresses of the space, in one piece wherever it lies. The exporter gives physical addresses and
// keeps the buffer where it is until the mapping goes; when it takes the buffer back, no device reaches it any more
// before the revocation returns. Knows neither exporter nor devices.
#pragma once

#include "sw/memory/attachment.h"
#include "sw/memory/dmabuf.h"
#include "sw/memory/iommu/address_space.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace sw::memory::iommu {

class FileMapping {
public:
    struct Options {
        std::optional<std::uint64_t> iova{}; ///< else a place of the space's choice
        Rights rights{};
    };
    /// [offset, +bytes) of the buffer, whole pages. EINVAL for what is not, or is empty, and where the exporter gives
    /// no physical addresses; EBADF without a buffer, EOVERFLOW beyond its end, ENODEV when it was taken back; else
    /// what AddressSpace::map_list says. The space outlives the mapping.
    static Result<std::unique_ptr<FileMapping>> create(AddressSpace& space, DmaBufHandle buffer, std::uint64_t offset,
                                                       std::uint64_t bytes, const Options& options);
    FileMapping(const FileMapping&) = delete;
    FileMapping& operator=(const FileMapping&) = delete;
    /// Unmaps, unpins and releases the buffer. Nobody may hold its lock and wait for this.
    ~FileMapping();

    std::uint64_t iova() const { return iova_; }
    std::uint64_t bytes() const { return bytes_; }
    /// The exporter took the buffer back: requests to these addresses are refused, and the addresses are free.
    bool is_revoked() const { return is_revoked_; }

private:
    FileMapping(AddressSpace& space, std::uint64_t bytes) : space_(space), bytes_(bytes) {}
    Result<void> map(const Lock& lock, std::uint64_t offset, const Options& options);
    Result<void> unmap(const Lock& lock);

    AddressSpace& space_;
    std::uint64_t iova_ = 0, bytes_;
    std::unique_ptr<Attachment> attachment_;
    const PhysicalList* list_ = nullptr;
    bool is_pinned_ = false, is_in_space_ = false, is_revoked_ = false;
};

} // namespace sw::memory::iommu

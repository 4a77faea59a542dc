// Registers of a function as a dma-buf, as vfio-pci exports a BAR (VFIO_DEVICE_FEATURE_DMA_BUF): other devices reach
// them there and nowhere else, since a register cannot move to system memory. Whoever resets the function or lets it go
// takes the buffer back first. Knows no importer.
#pragma once

#include "sw/base/result.h"
#include "sw/memory/dmabuf.h"
#include "sw/transport/transport.h"

#include <cstdint>

namespace sw::memory {

class MmioExport {
public:
    /// [offset, +bytes) of BAR `bar`. EINVAL: there is no such BAR, the range is empty or leaves it, or is not of whole
    /// pages. The function outlives the export.
    static Result<MmioExport> create(transport::Transport& function, unsigned bar, std::uint64_t offset,
                                     std::uint64_t bytes);
    MmioExport(MmioExport&&) = default;
    MmioExport& operator=(MmioExport&& other) noexcept;
    /// Takes it back.
    ~MmioExport();

    const DmaBufHandle& buffer() const { return buffer_; }
    /// Returns when nobody reaches the registers by it any more; importers have been told.
    Result<void> revoke();

private:
    MmioExport(transport::Transport& function, DmaBufHandle buffer)
        : function_(&function), buffer_(std::move(buffer)) {}

    transport::Transport* function_;
    DmaBufHandle buffer_;
};

} // namespace sw::memory

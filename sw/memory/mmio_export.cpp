#include "sw/memory/mmio_export.h"

#include "sw/memory/attachment.h"
#include "sw/transport/function.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

namespace sw::memory {

Result<MmioExport> MmioExport::create(transport::Transport& function, unsigned bar, std::uint64_t offset,
                                      std::uint64_t bytes) {
    const auto size = bar < transport::bar_count ? function.bar_size(bar) : 0;
    if (size == 0)
        return failure(EINVAL, fmt::format("export registers: region {} is no BAR", bar));
    if (bytes == 0 || offset % dma_page != 0 || bytes % dma_page != 0)
        return failure(
            EINVAL, fmt::format("export registers: [{:#x}, +{:#x}) of BAR {} is not whole pages", offset, bytes, bar));
    if (offset > size || bytes > size - offset)
        return failure(EINVAL, fmt::format("export registers: [{:#x}, +{:#x}) leaves BAR {} of {:#x} bytes", offset,
                                           bytes, bar, size));
    const BusRange range{function.bar_address(bar) + offset, bytes};
    Exporter exporter{.name = "vfio-pci"};
    exporter.attach = [](Attachment& importer) -> Result<void> {
        if (importer.type() == MappingType::scatter_list && !importer.peer2peer())
            return failure(EOPNOTSUPP, "attach: registers are reached peer to peer only");
        return {};
    };
    exporter.offers = [] {
        return std::vector<MappingOffer>{{MappingType::physical_list}, {MappingType::scatter_list, true}};
    };
    // It never moves, and who pins it must be able to hear that it is taken back.
    exporter.pin = [](Attachment&, const Lock&) -> Result<void> { return {}; };
    exporter.unpin = [](Attachment&, const Lock&) {};
    exporter.map = [range](Attachment& importer, const Lock&) { return map_peers(importer.device(), {range}); };
    exporter.unmap = [](Attachment& importer, const ScatterList& list) { unmap_peers(importer.device(), list); };
    exporter.map_physical = [range](Attachment&, const Lock&) -> Result<PhysicalList> { return PhysicalList{range}; };
    exporter.unmap_physical = [](Attachment&, const PhysicalList&) {};
    exporter.release = [] {};
    auto buffer = DmaBuf::make(std::move(exporter), bytes);
    if (!buffer)
        return std::unexpected(buffer.error());
    return MmioExport(function, std::move(*buffer));
}

MmioExport& MmioExport::operator=(MmioExport&& other) noexcept {
    std::swap(function_, other.function_);
    std::swap(buffer_, other.buffer_);
    return *this;
}

MmioExport::~MmioExport() { (void)revoke(); }

Result<void> MmioExport::revoke() {
    if (!buffer_ || buffer_->is_revoked())
        return {};
    return buffer_->revoke(*function_, true);
}

} // namespace sw::memory

#include "testbench/harness/device_mapping.h"

#include <fmt/format.h>

#include <cerrno>

namespace harness {

using sw::failure;

sw::Result<DeviceMapping> DeviceMapping::make(const sw::gpu::Gpu& gpu, const sw::gpu::VramBuffer& buffer,
                                              sw::transport::Transport& device, sw::memory::iommu::AddressSpace* space,
                                              const std::string& driver) {
    const auto handle = gpu.export_buffer(buffer);
    if (!handle)
        return std::unexpected(handle.error());
    DeviceMapping made;
    if (space != nullptr) {
        auto mapping = sw::memory::iommu::FileMapping::create(*space, *handle, 0, (*handle)->size(), {});
        if (!mapping)
            return std::unexpected(mapping.error());
        made.mapping_ = std::move(*mapping);
        made.bus_ = made.mapping_->iova();
        return made;
    }
    auto attachment = (*handle)->attach(device, {.name = driver, .allow_peer2peer = true});
    if (!attachment)
        return std::unexpected(attachment.error());
    made.attachment_ = std::move(*attachment);
    const auto lock = (*handle)->reservation().lock(device);
    if (!lock)
        return std::unexpected(lock.error());
    if (const auto pinned = made.attachment_->pin(*lock); !pinned)
        return std::unexpected(pinned.error());
    const auto list = made.attachment_->map(*lock);
    if (!list)
        return std::unexpected(list.error());
    if ((*list)->size() != 1)
        return failure(ENOMEM, fmt::format("VRAM is in pieces: none has {} bytes", buffer.size()));
    made.bus_ = (*list)->front().bus;
    return made;
}

} // namespace harness

// A buffer of VRAM as another device reaches it, for as long as this lives: by addresses of the device's own address
// space where there is a remapping unit (a dma-buf mapped there by its physical list), else peer to peer.
#pragma once

#include "sw/gpu/gpu.h"
#include "sw/memory/attachment.h"
#include "sw/memory/iommu/file_mapping.h"

#include <cstdint>
#include <memory>
#include <string>

namespace harness {

class DeviceMapping {
public:
    /// `space` is the address space of `device`; nullptr: there is none, or the driver maps peers there by itself.
    /// ENOMEM: the buffer lies in several pieces, and the device is to have it as one.
    static sw::Result<DeviceMapping> make(const sw::gpu::Gpu& gpu, const sw::gpu::VramBuffer& buffer,
                                          sw::transport::Transport& device, sw::memory::iommu::AddressSpace* space,
                                          const std::string& driver);
    /// Of its first byte, as the device has it.
    std::uint64_t bus() const { return bus_; }

private:
    std::unique_ptr<sw::memory::iommu::FileMapping> mapping_;
    std::unique_ptr<sw::memory::Attachment> attachment_;
    std::uint64_t bus_ = 0;
};

} // namespace harness

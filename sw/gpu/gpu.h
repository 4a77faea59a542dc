// The driver of a GPU as far as its memory goes: allocates VRAM, lets the processor reach it through the BAR, and
// exports it to other devices as bus address ranges. Launches nothing.
#pragma once

#include "sw/base/result.h"
#include "sw/gpu/vram.h"
#include "sw/memory/dmabuf.h"
#include "sw/transport/transport.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sw::gpu {

/// VRAM that belongs to somebody. Returned to the allocator when the last of owner and exports lets go.
class VramBuffer {
public:
    std::uint64_t size() const { return size_; }
    const std::vector<VramRange>& ranges() const;

private:
    friend class Gpu;
    struct Lease;
    VramBuffer(std::shared_ptr<const Lease> lease, std::uint64_t size) : lease_(std::move(lease)), size_(size) {}

    std::shared_ptr<const Lease> lease_;
    std::uint64_t size_; // as asked for; the lease covers whole blocks
};

class Gpu {
public:
    /// `vram_bar` is the BAR of the VRAM aperture; without it, the largest 64-bit prefetchable one.
    /// Enables memory space of the function.
    static Result<Gpu> open(transport::Transport& transport, std::optional<unsigned> vram_bar = {});

    Result<VramBuffer> allocate(std::uint64_t bytes);
    /// A handle another device's driver registers: the buffer's bytes as bus addresses.
    Result<memory::DmaBufHandle> export_buffer(const VramBuffer& buffer) const;

    /// Copies through the BAR, as fast as the transport can: by a mapping of it, or register by register.
    Result<void> upload(const VramBuffer& buffer, std::uint64_t offset, std::span<const std::byte> from);
    Result<void> download(const VramBuffer& buffer, std::uint64_t offset, std::span<std::byte> into);

    std::uint64_t vram_bytes() const { return allocator_->total_bytes(); }
    std::uint64_t free_bytes() const { return allocator_->free_bytes(); }
    unsigned vram_bar() const { return bar_; }

private:
    Gpu(transport::Transport& transport, unsigned bar, std::uint64_t size)
        : transport_(&transport), bar_(bar), allocator_(std::make_shared<VramAllocator>(size)) {}

    transport::Transport* transport_;
    unsigned bar_;
    std::shared_ptr<VramAllocator> allocator_; // leases outlive a moved Gpu
};

} // namespace sw::gpu

// The driver of a GPU as far as its memory goes: allocates VRAM, lets the processor reach it through the BAR, moves
// buffers between VRAM and system memory, exports them to other devices as dma-bufs and takes them back. Launches
// nothing.
#pragma once

#include "sw/base/result.h"
#include "sw/gpu/buffer.h"
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

/// A buffer with its owner. Its memory is released when neither the owner nor an export needs it any more.
class VramBuffer {
public:
    std::uint64_t size() const { return size_; }
    /// Where it lies; empty in system memory.
    const std::vector<VramRange>& ranges() const { return object_->place->vram; }
    Placement placement() const { return object_->place->placement; }
    unsigned pins() const { return object_->pins; }
    /// Page table entries of it that are written from now on are UC, whatever was asked for.
    bool is_uncached() const { return object_->is_uncached; }

private:
    friend class Gpu;
    VramBuffer(std::shared_ptr<BufferObject> object, std::uint64_t size) : object_(std::move(object)), size_(size) {}

    std::shared_ptr<BufferObject> object_;
    std::uint64_t size_; // as asked for; the object has whole blocks
};

/// Keeps a buffer in VRAM where it is, as long as this lives.
class Pin {
public:
    Pin(Pin&&) = default;
    Pin& operator=(Pin&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Pin() {
        if (object_)
            --object_->pins;
    }
    bool is_uncached() const { return object_->is_uncached; } ///< see VramBuffer

private:
    friend class Gpu;
    explicit Pin(std::shared_ptr<BufferObject> object) : object_(std::move(object)) { ++object_->pins; }
    std::shared_ptr<BufferObject> object_;
};

class Gpu {
public:
    /// `vram_bar` is the BAR of the VRAM aperture; without it, the largest 64-bit prefetchable one.
    /// Enables memory space of the function.
    static Result<Gpu> open(transport::Transport& transport, std::optional<unsigned> vram_bar = {},
                            VramLayout layout = {});
    Gpu(Gpu&&) = default;
    Gpu& operator=(Gpu&& other) noexcept;
    ~Gpu();
    /// Takes every export back, also from importers that cannot be told (EBUSY: one of those has a mapping left, whose
    /// memory is not used again). Later calls, and those of importers, get ENODEV.
    Result<void> close();

    /// A buffer in VRAM. When VRAM is full, buffers that nobody pinned go to system memory, the least recently used
    /// first.
    Result<VramBuffer> allocate(std::uint64_t bytes);
    /// EINVAL: it lies in system memory. Waits for a move of it.
    Result<Pin> pin(const VramBuffer& buffer);
    /// Whether VRAM is exported to drivers of remapping units, too, as lists of physical addresses. It is, unless
    /// switched off: stock amdgpu does not.
    void offer_physical(bool offers) { manager_->offer_physical(offers); }
    /// Whether an export makes its buffer uncached from then on. It does not, unless switched on: of pages that are
    /// mapped by then nothing changes.
    void make_exports_uncached(bool makes) { manager_->make_exports_uncached(makes); }
    /// What another device's driver registers. The same dma-buf each time, until it is taken back; then a new one.
    Result<memory::DmaBufHandle> export_buffer(const VramBuffer& buffer) const;
    /// Begins to move a buffer. Importers are told; the fence says when the bytes are there. EBUSY while it is pinned.
    Result<memory::FenceHandle> migrate(const VramBuffer& buffer, Placement to);
    /// Moves it to system memory and waits for the end.
    Result<void> evict(const VramBuffer& buffer);
    /// Takes the export of a buffer back, for good: when it returns nobody reaches the memory by it any more. EBUSY,
    /// and nothing done, when an importer that cannot be told has it pinned. The buffer stays its owner's.
    Result<void> revoke(const VramBuffer& buffer);

    /// Copies through the BAR, as fast as the transport can: by a mapping of it, or register by register. Waits for a
    /// move of the buffer; what lies in system memory is copied there.
    Result<void> upload(const VramBuffer& buffer, std::uint64_t offset, std::span<const std::byte> from);
    Result<void> download(const VramBuffer& buffer, std::uint64_t offset, std::span<std::byte> into);

    /// What waves and copy engines have left in the caches is in memory when this returns, and no cache has a line: by
    /// a request of the copy engine. Without one nothing is done.
    Result<void> rinse() { return manager_->rinse(); }

    std::uint64_t vram_bytes() const { return manager_->allocator().total_bytes(); }
    std::uint64_t free_bytes() const { return manager_->allocator().free_bytes(); }
    std::uint64_t evictions() const { return manager_->evictions(); }
    std::uint64_t moves() const { return manager_->moves(); }
    std::uint64_t engine_bytes() const { return manager_->engine_bytes(); }
    unsigned vram_bar() const { return bar_; }
    transport::Transport& transport() const { return *transport_; }

private:
    Gpu(transport::Transport& transport, unsigned bar, std::uint64_t size, VramLayout layout)
        : transport_(&transport), bar_(bar), manager_(std::make_shared<BufferManager>(transport, bar, size, layout)) {}

    transport::Transport* transport_;
    unsigned bar_;
    std::shared_ptr<BufferManager> manager_; // buffers outlive a moved Gpu
};

} // namespace sw::gpu

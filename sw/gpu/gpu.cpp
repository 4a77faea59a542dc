#include "sw/gpu/gpu.h"

#include "abi/layout.h"
#include "abi/pcie/config_space.h"
#include "sw/transport/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace sw::gpu {

struct VramBuffer::Lease {
    Lease(std::shared_ptr<VramAllocator> from, std::vector<VramRange> taken)
        : allocator(std::move(from)), ranges(std::move(taken)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { allocator->release(ranges); }

    std::shared_ptr<VramAllocator> allocator;
    std::vector<VramRange> ranges;
};

const std::vector<VramRange>& VramBuffer::ranges() const { return lease_->ranges; }

namespace {

/// Calls `copy(BAR offset, position in the span, bytes)` for the consecutive pieces of [offset, +size) of the buffer.
template <class Copy>
void for_each_piece(const VramBuffer& buffer, std::uint64_t offset, std::size_t size, Copy&& copy) {
    std::size_t position = 0;
    for (const auto& range : buffer.ranges()) {
        if (offset >= range.size) {
            offset -= range.size;
            continue;
        }
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(range.size - offset, size - position));
        if (bytes == 0)
            return;
        copy(range.offset + offset, position, bytes);
        position += bytes;
        offset = 0;
    }
}

Result<void> check_inside(const VramBuffer& buffer, std::uint64_t offset, std::size_t size) {
    if (offset > buffer.size() || size > buffer.size() - offset)
        return failure(EINVAL, fmt::format("VRAM copy: [{:#x}, +{:#x}) leaves a buffer of {:#x} bytes", offset, size,
                                           buffer.size()));
    return {};
}

/// The aperture is what a processor may map write-combining, wherever the function has it: the largest 64-bit
/// prefetchable BAR. Registers may well be larger than a small VRAM.
std::optional<unsigned> find_aperture(transport::Transport& transport) {
    std::optional<unsigned> found;
    for (unsigned i = 0; i < transport::bar_count; ++i) {
        abi::Block<abi::pcie::MemoryBar> bar;
        const auto at = static_cast<std::uint16_t>(abi::pcie::bar_offset + 4 * i);
        abi::store<std::uint32_t, abi::Endian::little>(bar.bytes.data(), transport.config_read(at, 4));
        if (bar.view().get<"is_io">() || bar.view().get<"type">() != abi::pcie::bar_type_64)
            continue;
        if (bar.view().get<"prefetchable">() && transport.bar_size(i) > (found ? transport.bar_size(*found) : 0))
            found = i;
        ++i; // its upper half is no BAR
    }
    return found;
}

} // namespace

Result<Gpu> Gpu::open(transport::Transport& transport, std::optional<unsigned> vram_bar) {
    if (auto enabled = transport::enable_function(transport); !enabled)
        return std::unexpected(std::move(enabled.error()));
    const auto bar = vram_bar ? vram_bar : find_aperture(transport);
    if (!bar)
        return failure(ENODEV, "open GPU: the function has no 64-bit prefetchable BAR: no VRAM aperture");
    const auto size = transport.bar_size(*bar);
    if (size < vram_block)
        return failure(ENODEV, fmt::format("open GPU: BAR {} of {:#x} bytes is no VRAM aperture", *bar, size));
    return Gpu(transport, *bar, size);
}

Result<VramBuffer> Gpu::allocate(std::uint64_t bytes) {
    auto ranges = allocator_->allocate(bytes);
    if (!ranges)
        return std::unexpected(std::move(ranges.error()));
    return VramBuffer(std::make_shared<const VramBuffer::Lease>(allocator_, std::move(*ranges)), bytes);
}

Result<memory::DmaBufHandle> Gpu::export_buffer(const VramBuffer& buffer) const {
    const auto base = transport_->bar_address(bar_);
    if (base == 0)
        return failure(ENODEV, fmt::format("export VRAM: BAR {} has no bus address", bar_));
    std::vector<memory::BusRange> ranges;
    for (const auto& range : buffer.ranges())
        ranges.push_back({base + range.offset, range.size});
    return std::make_shared<const memory::DmaBuf>(std::move(ranges), buffer.lease_);
}

Result<void> Gpu::upload(const VramBuffer& buffer, std::uint64_t offset, std::span<const std::byte> from) {
    if (auto inside = check_inside(buffer, offset, from.size()); !inside)
        return inside;
    for_each_piece(buffer, offset, from.size(), [&](std::uint64_t at, std::size_t position, std::size_t bytes) {
        transport_->bar_write(bar_, at, from.subspan(position, bytes));
    });
    return {};
}

Result<void> Gpu::download(const VramBuffer& buffer, std::uint64_t offset, std::span<std::byte> into) {
    if (auto inside = check_inside(buffer, offset, into.size()); !inside)
        return inside;
    for_each_piece(buffer, offset, into.size(), [&](std::uint64_t at, std::size_t position, std::size_t bytes) {
        transport_->bar_read(bar_, at, into.subspan(position, bytes));
    });
    return {};
}

} // namespace sw::gpu

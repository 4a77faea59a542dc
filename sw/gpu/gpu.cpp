#include "sw/gpu/gpu.h"

#include "abi/layout.h"
#include "abi/pcie/config_space.h"
#include "sw/transport/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace sw::gpu {

namespace {

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

Result<Gpu> Gpu::open(transport::Transport& transport, std::optional<unsigned> vram_bar, VramLayout layout) {
    if (layout.block_bytes == 0 || layout.block_bytes % memory::dma_page != 0)
        return failure(EINVAL, fmt::format("open GPU: blocks of {:#x} bytes are not whole pages", layout.block_bytes));
    if (auto enabled = transport::enable_function(transport); !enabled)
        return std::unexpected(std::move(enabled.error()));
    const auto bar = vram_bar ? vram_bar : find_aperture(transport);
    if (!bar)
        return failure(ENODEV, "open GPU: the function has no 64-bit prefetchable BAR: no VRAM aperture");
    const auto size = transport.bar_size(*bar);
    if (size < layout.block_bytes)
        return failure(ENODEV, fmt::format("open GPU: BAR {} of {:#x} bytes is no VRAM aperture", *bar, size));
    const auto engine = find_copy_engine(transport);
    if (!engine || size < CopyRing::ring_bytes + layout.block_bytes)
        return Gpu(transport, *bar, size, layout);
    // Its ring has the end of VRAM, which no buffer gets.
    const auto ring_at = size - CopyRing::ring_bytes;
    auto ring = CopyRing::open(transport, *bar, *engine, ring_at);
    if (!ring)
        return std::unexpected(std::move(ring.error()));
    Gpu gpu(transport, *bar, ring_at, layout);
    gpu.manager_->use(std::move(*ring));
    return gpu;
}

Gpu& Gpu::operator=(Gpu&& other) noexcept {
    std::swap(transport_, other.transport_);
    std::swap(bar_, other.bar_);
    std::swap(manager_, other.manager_);
    return *this;
}

Gpu::~Gpu() { (void)close(); }

Result<void> Gpu::close() { return manager_ ? manager_->die() : Result<void>{}; }

Result<VramBuffer> Gpu::allocate(std::uint64_t bytes) {
    auto object = manager_->allocate(bytes);
    if (!object)
        return std::unexpected(std::move(object.error()));
    return VramBuffer(std::move(*object), bytes);
}

Result<memory::DmaBufHandle> Gpu::export_buffer(const VramBuffer& buffer) const {
    return manager_->export_buffer(buffer.object_);
}

Result<Pin> Gpu::pin(const VramBuffer& buffer) {
    if (auto moved = buffer.object_->reservation->wait(*transport_, memory::Usage::kernel); !moved)
        return std::unexpected(std::move(moved.error()));
    if (buffer.placement() != Placement::vram)
        return failure(EINVAL, "pin: the buffer lies in system memory");
    return Pin(buffer.object_);
}

Result<memory::FenceHandle> Gpu::migrate(const VramBuffer& buffer, Placement to) {
    const auto lock = buffer.object_->reservation->lock(*transport_);
    if (!lock)
        return std::unexpected(lock.error());
    return manager_->move(*buffer.object_, *lock, to);
}

Result<void> Gpu::evict(const VramBuffer& buffer) {
    const auto moving = migrate(buffer, Placement::system);
    if (!moving)
        return std::unexpected(moving.error());
    return buffer.object_->reservation->wait(*transport_, memory::Usage::kernel);
}

Result<void> Gpu::revoke(const VramBuffer& buffer) { return manager_->revoke(*buffer.object_); }

Result<void> Gpu::upload(const VramBuffer& buffer, std::uint64_t offset, std::span<const std::byte> from) {
    if (auto inside = check_inside(buffer, offset, from.size()); !inside)
        return inside;
    return manager_->access(
        *buffer.object_, offset, from.size(),
        [&](std::uint64_t at, std::size_t position, std::size_t bytes) {
            transport_->bar_write(bar_, at, from.subspan(position, bytes));
        },
        [&](std::span<std::byte> memory) { std::ranges::copy(from, memory.begin()); });
}

Result<void> Gpu::download(const VramBuffer& buffer, std::uint64_t offset, std::span<std::byte> into) {
    if (auto inside = check_inside(buffer, offset, into.size()); !inside)
        return inside;
    return manager_->access(
        *buffer.object_, offset, into.size(),
        [&](std::uint64_t at, std::size_t position, std::size_t bytes) {
            transport_->bar_read(bar_, at, into.subspan(position, bytes));
        },
        [&](std::span<std::byte> memory) { std::ranges::copy(memory, into.begin()); });
}

} // namespace sw::gpu

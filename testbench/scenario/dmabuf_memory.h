// The memory of the dma-buf scenario: a part of a buffer in VRAM, exported and registered, and contents of which each
// byte says whose it is. Looks at VRAM by the GPU's own view: a processor's access would take time, in which a transfer
// goes on.
#pragma once

#include "sw/gpu/gpu.h"
#include "sw/mlx/memory/memory_region.h"
#include "testbench/scenario/endpoint.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace scenario {

using Bytes = std::vector<std::byte>;

/// Who has put a byte where it is.
enum class Owner : std::uint8_t {
    nobody, ///< what lay there before
    sender, ///< what the transfer moves
    next,   ///< what the memory's next owner puts there
};

/// Byte `i` of what an owner writes in step `step`; at no place do two owners of a step write the same.
std::byte content(std::size_t step, Owner owner, std::uint64_t i);
Bytes contents(std::size_t step, Owner owner, std::uint64_t bytes);
/// How many of the bytes are this owner's.
std::uint64_t count(std::span<const std::byte> bytes, std::size_t step, Owner owner);
/// The first byte that is none of these owners', with what it is: "byte 7 is 0x1f, the next owner's". Empty: there is
/// none.
std::string find_foreign(std::span<const std::byte> bytes, std::size_t step, std::span<const Owner> owners);

/// A buffer in fragments, of which a part that begins and ends inside pages is registered.
class ExportedPart {
public:
    static constexpr std::uint64_t offset = 0x1dc8;
    /// How buffers are laid out in VRAM: no two ranges of one are neighbours.
    static constexpr sw::gpu::VramLayout layout{.block_bytes = 4096, .fragment_bytes = 64 << 10};
    /// VRAM that the buffer of a part takes.
    static constexpr std::uint64_t vram_bytes(std::uint64_t bytes) {
        return (bytes + 2 * offset + layout.block_bytes - 1) / layout.block_bytes * layout.block_bytes;
    }

    static sw::Result<ExportedPart> make(Endpoint& endpoint, std::uint64_t bytes, sw::mlx::DmaBufMode mode);

    const sw::mlx::MemoryRegion& region() const { return *region_; }
    /// The exporter takes its buffer back; the buffer stays.
    sw::Result<void> revoke() { return endpoint_->gpu().revoke(*buffer_); }
    /// The exporter moves its buffer to system memory; returns when the bytes are there.
    sw::Result<void> evict() { return endpoint_->gpu().evict(*buffer_); }
    /// Takes the key away.
    sw::Result<void> deregister() { return region_->destroy(); }

    /// Into the VRAM that was the part's when it was made, whoever has that now.
    void put(std::size_t step, Owner owner);
    /// What lies there.
    Bytes left() const;
    /// What the part holds, wherever its buffer is.
    Bytes held() const;
    /// Notes what lies around the part in VRAM, 64 KiB beside each range of the buffer.
    void note_surroundings();
    /// Where that has changed: an offset in VRAM.
    std::optional<std::uint64_t> find_change() const;

private:
    ExportedPart(Endpoint& endpoint, std::uint64_t bytes) : endpoint_(&endpoint), bytes_(bytes) {}
    struct Surroundings {
        std::uint64_t begin;
        Bytes bytes;
    };
    /// Calls `f(position in the part, offset in VRAM, bytes)` for its pieces, in order.
    template <class F> void for_each_piece(F&& f) const;

    Endpoint* endpoint_;
    std::uint64_t bytes_;
    std::optional<sw::gpu::VramBuffer> buffer_;
    std::vector<sw::gpu::VramRange> places_;      ///< of the buffer, when it was made
    std::optional<sw::mlx::MemoryRegion> region_; // goes before the buffer
    std::vector<Surroundings> surroundings_;
};

} // namespace scenario

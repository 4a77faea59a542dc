// The memory that a race is about, registered with the HCA, once or several times: part of a buffer of the GPU, by a
// dma-buf, or of DMA memory behind a remapping unit. Gives every byte of it and of what lies around, and takes it away
// in the ways that there are.
#pragma once

#include "testbench/harness/cluster.h"
#include "testbench/scenario/race.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace scenario::race {

class Memory {
public:
    /// `size` bytes at `offset` of something larger, registered `importers` times.
    Memory(harness::Side& owner, MemoryKind kind, std::uint64_t offset, std::uint64_t size, unsigned importers);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    std::deque<sw::mlx::MemoryRegion>& regions() { return regions_; }
    sw::gpu::VramBuffer& buffer() { return *buffer_; }
    /// Calls `visit(i, byte)` for each byte of the region: the memory itself, at once. A processor's access would take
    /// time, in which the transfer goes on.
    template <class Visit> void each_byte(Visit&& visit) const {
        std::uint64_t i = 0;
        for (const auto piece : pieces_)
            for (auto& byte : piece)
                visit(i++, byte);
    }
    std::vector<std::byte> held() const;
    /// All memory around it that somebody could hit: the GPU's, or what was allocated.
    std::span<std::byte> all() const { return all_; }

    /// Gives the memory back while the keys live: the driver's mistake, which the remapping unit has to stop. What lay
    /// there is lost; when this returns the same pages are somebody else's.
    void release();
    /// Moves the buffer to host memory; when this returns its bytes are there, and where it was is somebody else's.
    void migrate();
    /// What it holds where it is now.
    std::vector<std::byte> moved();

private:
    void set_pieces(std::span<const std::span<std::byte>> places);

    harness::Side& owner_;
    std::uint64_t offset_, size_;
    std::optional<sw::gpu::VramBuffer> buffer_;
    std::optional<sw::transport::DmaMemory> host_, next_; ///< the device's; what the next owner has
    std::deque<sw::mlx::MemoryRegion> regions_;           ///< they stay where they are
    std::span<std::byte> all_;
    std::vector<std::span<std::byte>> pieces_; ///< of the region
};

} // namespace scenario::race

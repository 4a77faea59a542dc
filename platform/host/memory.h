// DRAM of one host: sparse bytes with the memory map of a PC, and the operating system's allocator of DMA memory over
// them. Gives bus addresses; knows no devices.
#pragma once

#include "model/memory/sparse_memory.h"
#include "model/pcie/root_complex.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace platform::host {

class Memory {
public:
    static constexpr std::uint64_t page = 4096;
    static constexpr std::uint64_t reserved = 1 << 20; ///< what a PC keeps for itself at address 0

    Memory(const std::string& name, const model::pcie::MemoryMap& map);

    std::span<std::byte> bytes() const { return memory_.bytes(); }

    struct Block {
        std::byte* data;
        std::uint64_t bus;
        std::uint64_t size; ///< whole pages
    };
    /// Zeroed, contiguous on the bus; the lowest place that fits. `alignment` is a power of two. Takes as long as there
    /// are sizes of holes, however many blocks and holes there are.
    std::optional<Block> allocate(std::uint64_t bytes, std::uint64_t alignment = page);
    void release(std::uint64_t bus);
    /// Where the byte at a bus address lies; nullptr when that is not DRAM.
    std::byte* at(std::uint64_t bus) const;
    /// And back; 0 when it is not of DRAM.
    std::uint64_t bus_of(const std::byte* data) const;
    std::uint64_t allocated_bytes() const { return allocated_; }
    /// Holes that allocate() has looked at so far.
    std::uint64_t looked_at() const { return looked_at_; }

private:
    using Sizes = std::map<std::uint64_t, std::uint64_t>; ///< by bus address
    void add_hole(std::uint64_t bus, std::uint64_t size);
    /// Takes the hole out; returns its size.
    std::uint64_t remove_hole(Sizes::iterator hole);

    model::pcie::MemoryMap map_;
    model::memory::SparseMemory memory_;
    Sizes holes_, used_;
    std::map<std::uint64_t, std::set<std::uint64_t>> places_; ///< of the holes of a size
    std::uint64_t allocated_ = 0, looked_at_ = 0;
};

} // namespace platform::host

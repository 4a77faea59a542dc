// DRAM of one host: sparse bytes with the memory map of a PC, and the operating system's allocator of DMA memory over
// them. Gives bus addresses; knows no devices.
#pragma once

#include "model/memory/sparse_memory.h"
#include "model/pcie/root_complex.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace platform::host {

class Memory {
public:
    static constexpr std::uint64_t page = 4096;
    static constexpr std::uint64_t reserved = 1 << 20; ///< what a PC keeps for itself at address 0

    Memory(const std::string& name, const model::pcie::MemoryMap& map);

    std::span<std::byte> bytes() const { return memory_.bytes(); }
    const model::memory::SparseMemory& backing() const { return memory_; }

    struct Block {
        std::byte* data;
        std::uint64_t bus;
        std::uint64_t size; ///< whole pages
    };
    /// Zeroed, contiguous on the bus; the lowest place that fits. `alignment` is a power of two.
    std::optional<Block> allocate(std::uint64_t bytes, std::uint64_t alignment = page);
    void release(std::uint64_t bus);
    /// Where the byte at a bus address lies; nullptr when that is not DRAM.
    std::byte* at(std::uint64_t bus) const;
    /// And back; 0 when it is not of DRAM.
    std::uint64_t bus_of(const std::byte* data) const;
    std::uint64_t allocated_bytes() const { return allocated_; }

private:
    model::pcie::MemoryMap map_;
    model::memory::SparseMemory memory_;
    std::map<std::uint64_t, std::uint64_t> holes_; ///< bus address -> size
    std::map<std::uint64_t, std::uint64_t> used_;
    std::uint64_t allocated_ = 0;
};

} // namespace platform::host

// The bus of a machine for which we do what its firmware would: assigns addresses to BARs, and finds the BAR of an
// address. Where functions are reached over sockets nobody else does that. Addresses of BARs and of DMA memory never
// overlap: both are addresses for a device. Not for several threads at once.
#pragma once

#include "sw/base/result.h"
#include "sw/memory/iova.h"

#include <cstdint>
#include <map>
#include <optional>

namespace sw::transport {

class BusMap {
public:
    /// Where a machine of ours has its DMA memory.
    static constexpr std::uint64_t memory_begin = 1ull << 32, memory_end = 1ull << 39;

    /// An address for a BAR of `size` bytes, a power of two: naturally aligned, below 4 GiB for one of 32 bits.
    Result<std::uint64_t> place(std::uint64_t size, bool is_64bit);
    void remove(std::uint64_t address);
    /// Begin of the BAR that holds all of [address, +size).
    std::optional<std::uint64_t> find(std::uint64_t address, std::uint64_t size) const;

private:
    // Below the interrupt messages of a PC, and above its memory.
    memory::IovaSpace low_{0xc000'0000, 0xfe00'0000}, high_{1ull << 40, 1ull << 44};
    std::map<std::uint64_t, std::uint64_t> bars_; ///< size by address
};

} // namespace sw::transport

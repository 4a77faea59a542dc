// The machine we run on, as drivers in user space need it: one address space for all functions that are opened, DMA
// memory in it, and BARs of peers mapped into it. Several threads may open and map at once.
#pragma once

#include "sw/memory/iova.h"
#include "sw/transport/dma_pool.h"
#include "sw/transport/vfio/address_space.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace sw::transport::vfio {

class Machine {
public:
    // Within what the smallest IOMMU of a PC translates, above what chipsets keep for themselves.
    static constexpr std::uint64_t addresses_begin = 1ull << 32, addresses_end = 1ull << 38;

    explicit Machine(Interface interface = Interface::any) : interface_(interface) {}

    /// The VFIO device of a function, in our address space.
    Result<File> open(const FunctionFiles& function);
    /// Zeroed memory that all our functions have at consecutive addresses.
    Result<DmaMemory> allocate(std::size_t bytes, std::size_t alignment);
    void release(const DmaMemory& memory);

    /// A mapped BAR at its bus address; peers may reach it from now on.
    void add_bar(std::uint64_t bus, std::span<std::byte> memory);
    void remove_bar(std::uint64_t bus);
    /// The address at which our functions have [bus, +size) of a BAR.
    Result<std::uint64_t> map_bar(std::uint64_t bus, std::size_t size);
    void unmap_bar(std::uint64_t address, std::size_t size);

private:
    Result<std::unique_ptr<DmaChunk>> make_chunk(std::uint64_t address, std::size_t size);

    std::mutex mutex_;
    Interface interface_;
    memory::IovaSpace addresses_{addresses_begin, addresses_end};
    std::unique_ptr<AddressSpace> space_;
    DmaPool pool_{addresses_, [this](std::uint64_t address, std::size_t size) { return make_chunk(address, size); }};
    std::map<std::uint64_t, std::span<std::byte>> bars_; ///< by bus address
};

} // namespace sw::transport::vfio

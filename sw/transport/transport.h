// How a driver reaches one PCIe function: configuration space, BARs, DMA memory, interrupts. A driver sees hardware
// only through this; behind it stand /dev/vfio, a vfio-user socket or an in-process bridge.
#pragma once

#include "sw/base/result.h"
#include "sw/transport/ownership_listener.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sw::transport {

/// Memory that both the processor and the device see. `bus` is the address the device uses.
struct DmaMemory {
    std::byte* data = nullptr;
    std::uint64_t bus = 0;
    std::size_t size = 0;
    std::span<std::byte> bytes() const { return {data, size}; }
};

/// What a driver's processor does for a program.
enum class Work : std::uint8_t {
    post, ///< makes a work request or command; afterwards it tells the device
    poll, ///< takes in a completion
};

/// One function, as its driver has it. Nothing here fails for a device that is gone: its reads give all ones, as PCIe
/// has it after a completion that failed.
class Transport {
public:
    virtual ~Transport() = default;

    // Configuration space, little endian values of 1, 2 or 4 bytes. A missing function reads as all ones.
    virtual std::uint32_t config_read(std::uint16_t offset, unsigned bytes) = 0;
    virtual void config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) = 0;

    /// Size of BAR `bar` in bytes as the platform's enumeration found it; 0 when absent.
    virtual std::uint64_t bar_size(unsigned bar) = 0;
    /// Bus address of BAR `bar` (what a peer uses to reach it); 0 when absent.
    virtual std::uint64_t bar_address(unsigned bar) = 0;
    /// MMIO of 1, 2, 4 or 8 naturally aligned bytes, in memory order. Reads of a dead device give all ones.
    virtual void mmio_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) = 0;
    virtual void mmio_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) = 0;
    /// Bulk data of a BAR that is memory: any offset and length, in accesses of any size and order. Where a processor
    /// can map the BAR it does.
    virtual void bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) {
        for_each_access(offset, into.size(), [&](std::uint64_t at, std::size_t position, std::size_t bytes) {
            mmio_read(bar, at, into.subspan(position, bytes));
        });
    }
    virtual void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) {
        for_each_access(offset, from.size(), [&](std::uint64_t at, std::size_t position, std::size_t bytes) {
            mmio_write(bar, at, from.subspan(position, bytes));
        });
    }

    /// Zeroed DMA memory, `alignment` a power of two of at least 4096. Freed by release().
    virtual Result<DmaMemory> allocate(std::size_t bytes, std::size_t alignment = 4096) = 0;
    virtual void release(const DmaMemory& memory) = 0;
    /// Makes a peer's bus range (another function's BAR) reachable for this device; returns the address to give to it.
    virtual Result<std::uint64_t> map_peer(std::uint64_t bus, std::size_t bytes) = 0;
    virtual void unmap_peer(std::uint64_t address, std::size_t bytes) = 0;
    /// The same for DMA memory that another function's transport allocated. Where all functions share one address space
    /// they have it at its bus address already.
    virtual Result<std::uint64_t> map_memory(const DmaMemory& memory) { return memory.bus; }
    virtual void unmap_memory(std::uint64_t /*address*/, std::size_t /*bytes*/) {}

    /// Enables MSI-X vectors 0..count-1 and delivers them to this process.
    virtual Result<void> enable_interrupts(unsigned count) = 0;
    virtual void disable_interrupts() = 0;
    /// Waits until vector `vector` was raised since the last call, or the time is over. Returns whether it was.
    virtual bool wait_interrupt(unsigned vector, std::chrono::nanoseconds timeout) = 0;

    /// What a polling loop does between two looks. May let the device run; returns soon.
    virtual void relax() = 0;
    /// So many of these were done. Where the processor is a simulated one, that takes it time; a real one has taken it.
    virtual void spend(Work /*work*/, std::size_t /*count*/) {}
    /// Monotonic time of the machine the driver runs on, for time-outs.
    virtual std::chrono::nanoseconds now() = 0;

    /// Is to be told who owns which memory; nullptr: nobody.
    virtual OwnershipListener* ownership_listener() { return nullptr; }

private:
    /// Calls `access(offset, position, bytes)` for the largest naturally aligned pieces of at most 8 bytes.
    template <class Access> static void for_each_access(std::uint64_t offset, std::size_t size, Access&& access) {
        for (std::size_t done = 0; done != size;) {
            const auto aligned = std::size_t{1} << std::min(3, std::countr_zero(offset + done));
            const auto bytes = std::min(aligned, std::bit_floor(size - done));
            access(offset + done, done, bytes);
            done += bytes;
        }
    }
};

} // namespace sw::transport

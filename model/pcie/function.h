// What stands behind a PCIe endpoint: the device's side of its BARs. The endpoint does configuration space, address
// decode, MSI-X and the link; a device implements this and is given a Dma and an Interrupts port.
#pragma once

#include "model/port/dma.h"
#include "model/port/register_spaces.h"
#include "model/port/time.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace model::pcie {

class Function {
public:
    virtual ~Function() = default;
    /// A memory read of any length inside BAR `bar`, in memory order. Returns when the device has the bytes ready.
    virtual port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, port::Time at) = 0;
    /// A posted memory write.
    virtual void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, port::Time at) = 0;
    /// The plain memory behind `offset`, up to the end of what is contiguous; empty where accesses have side effects.
    virtual std::span<std::byte> direct(unsigned bar, std::uint64_t offset) = 0;
    /// Whether what other devices write into this memory shows there when their bytes have arrived. The device then
    /// looks at its memory in simulated time, and at nothing in the course of a write; otherwise it has the bytes at
    /// once.
    virtual bool shows_at_arrival(unsigned bar) const {
        static_cast<void>(bar);
        return false;
    }
    /// The memory file that holds the bytes of BAR `bar`, from the first one on; -1 where accesses have side effects.
    virtual int file(unsigned bar) const {
        static_cast<void>(bar);
        return -1;
    }
    /// Reads and writes for a debugger: no time passes, and there are no side effects. Return how many bytes from
    /// `offset` on can be accessed.
    virtual std::size_t peek(unsigned bar, std::uint64_t offset, std::span<std::byte> into) {
        static_cast<void>(bar), static_cast<void>(offset), static_cast<void>(into);
        return 0;
    }
    virtual std::size_t poke(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) {
        static_cast<void>(bar), static_cast<void>(offset), static_cast<void>(from);
        return 0;
    }
    /// What the vendor-specific capability leads to; nullptr: nothing.
    virtual port::RegisterSpaces* spaces() { return nullptr; }
    /// What software says to a group of page requests (PCIe 6.0 §10.4.2): 0 success, 1 invalid request, 15 failure.
    virtual void page_answered(std::uint16_t group, std::uint8_t code, port::Time at) {
        static_cast<void>(group), static_cast<void>(code), static_cast<void>(at);
    }
    /// Function-level reset, or reset of the link.
    virtual void reset(port::Time at) = 0;
};

} // namespace model::pcie

// The target's end of a memory request that is not plain memory: registers, interrupt messages. `cookie` says which
// part of the target (a BAR), `offset` counts from the start of that part.
#pragma once

#include "model/port/dma.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace model::pcie {

class Completer {
public:
    virtual ~Completer() = default;
    virtual port::DmaResult complete_read(unsigned cookie, std::uint64_t offset, std::span<std::byte> into,
                                          port::Time at) = 0;
    /// Posted: on silicon the requester never gets the status; it is given for explanations of the mistake.
    virtual port::DmaStatus complete_write(unsigned cookie, std::uint64_t offset, std::span<const std::byte> from,
                                           port::Time at) = 0;
    /// When all that the target has written into memory of the host is there, as far as it was issued until `at`. A
    /// completion that leaves then passes none of it (PCIe 6.0 §2.4.1).
    virtual port::Time all_there(port::Time at) const {
        static_cast<void>(at);
        return {};
    }
    /// Reads and writes for a debugger: no time passes, and there are no side effects. Return how many bytes from
    /// `offset` on can be accessed.
    virtual std::size_t peek(unsigned cookie, std::uint64_t offset, std::span<std::byte> into) {
        static_cast<void>(cookie), static_cast<void>(offset), static_cast<void>(into);
        return 0;
    }
    virtual std::size_t poke(unsigned cookie, std::uint64_t offset, std::span<const std::byte> from) {
        static_cast<void>(cookie), static_cast<void>(offset), static_cast<void>(from);
        return 0;
    }
};

} // namespace model::pcie

// Software tells a machine that asks for it who owns which memory, and where addresses of devices lead. A simulator
// asks, to find DMA that reaches somebody else's page by a stale mapping. Hardware does not ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sw::transport {

class OwnershipListener {
public:
    /// From now on `who` owns [bus, +bytes), as the host has it (memory or a BAR), and nobody else.
    virtual void own(std::uint64_t bus, std::uint64_t bytes, std::string_view who) = 0;
    /// The same for DMA memory, by where the processor has it.
    virtual void own_memory(const std::byte* data, std::uint64_t bytes, std::string_view who) = 0;
    /// The memory is given back, and may get another owner.
    virtual void disown(std::uint64_t bus, std::uint64_t bytes) = 0;

    // Address spaces of devices, by their domains.
    virtual void map(std::uint16_t domain, std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes) = 0;
    virtual void unmap(std::uint16_t domain, std::uint64_t iova, std::uint64_t bytes) = 0;
    virtual void attach(std::uint16_t requester, std::uint16_t domain) = 0;
    virtual void detach(std::uint16_t requester) = 0;

protected:
    ~OwnershipListener() = default;
};

} // namespace sw::transport

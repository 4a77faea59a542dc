// What software knows of who has which memory, for a machine that wants to hear of it: a simulator that looks whether
// DMA by a stale mapping reaches somebody else's page. Hardware does not ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sw::transport {

class Owners {
public:
    /// [bus, +bytes), as the host has it (memory or a BAR), is somebody's from now on, and of nobody else: of `who`.
    virtual void own(std::uint64_t bus, std::uint64_t bytes, std::string_view who) = 0;
    /// The same for DMA memory, by where the processor has it.
    virtual void own_memory(const std::byte* data, std::uint64_t bytes, std::string_view who) = 0;
    /// It is given back, to be somebody else's next.
    virtual void disown(std::uint64_t bus, std::uint64_t bytes) = 0;

    // Address spaces of devices, by their domains.
    virtual void map(std::uint16_t domain, std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes) = 0;
    virtual void unmap(std::uint16_t domain, std::uint64_t iova, std::uint64_t bytes) = 0;
    virtual void attach(std::uint16_t requester, std::uint16_t domain) = 0;
    virtual void detach(std::uint16_t requester) = 0;

protected:
    ~Owners() = default;
};

} // namespace sw::transport

// What a session speaks for: one PCI function with its regions, interrupts and view of the client's memory. The session
// has checked the form of a request; whether the function has such a region, vector or range is judged here. Errors are
// errno values, 0 is success.
//
// Writes and resets are taken at once and take effect in their order, later where the function is waiting for memory of
// the client; reads are answered at once whatever waits.
#pragma once

#include "platform/bridge/vfio_user/descriptor.h"
#include "platform/bridge/vfio_user/message.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace platform::bridge::vfio_user {

/// A part of a region, in whole pages.
struct Area {
    std::uint64_t offset, size;
};

class Device {
public:
    virtual ~Device() = default;

    /// Bytes; 0: the function has no such region.
    virtual std::uint64_t region_size(std::uint32_t region) const = 0;
    /// The file that the region is, from its first byte on, for the client to map; -1: accesses come by messages.
    virtual int region_file(std::uint32_t region) const = 0;
    /// The parts of the region that can be mapped, where it has a file but is not all memory; empty: all of it.
    virtual std::vector<Area> region_areas(std::uint32_t region) const {
        static_cast<void>(region);
        return {};
    }
    /// The client has the file now.
    virtual void region_given(std::uint32_t region) { static_cast<void>(region); }
    virtual std::uint32_t irq_count(protocol::IrqType type) const = 0;

    /// The range lies inside the region.
    virtual void read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> into) = 0;
    virtual void write(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from) = 0;
    virtual void reset() = 0;
    /// Does what was written so far, up to where the function has to wait.
    virtual void work() = 0;
    /// Bytes of what was written and waits.
    virtual std::size_t backlog() const = 0;

    /// `file` is empty where the range is to be reached by messages.
    virtual int map(const DmaMapRequest& map, Descriptor file) = 0;
    virtual int unmap(const DmaUnmapRequest& unmap) = 0;
    /// `files` has one for each of the range, or is empty. The range lies inside the type.
    virtual int set_irqs(const IrqSetRequest& set, std::vector<Descriptor> files) = 0;

    /// The client is gone: its memory and its interrupts with it.
    virtual void disconnect() = 0;
};

} // namespace platform::bridge::vfio_user

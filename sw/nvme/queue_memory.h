// Memory of one queue, wherever the controller reaches it: DMA memory of the host, a buffer in a GPU's VRAM, or the
// controller's own memory buffer. The processor has it as a pointer, or through a BAR.
#pragma once

#include "sw/transport/transport.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sw::nvme {

struct QueueMemory {
    std::uint64_t bus = 0; ///< as the controller addresses it, page aligned
    std::size_t size = 0;
    std::byte* data = nullptr; ///< the processor's view of it; nullptr: it has none but the BAR
    // Through which BAR the processor reaches it, where it has no pointer. `function` outlives the queue.
    transport::Transport* function = nullptr;
    unsigned bar = 0;
    std::uint64_t offset = 0;

    static QueueMemory of(const transport::DmaMemory& memory) {
        return {.bus = memory.bus, .size = memory.size, .data = memory.data};
    }
    bool is_pointer() const { return data != nullptr; }

    void store(std::size_t at, std::span<const std::byte> from) const {
        if (is_pointer())
            std::memcpy(data + at, from.data(), from.size());
        else
            function->bar_write(bar, offset + at, from);
    }
    void load(std::size_t at, std::span<std::byte> into) const {
        if (is_pointer())
            std::memcpy(into.data(), data + at, into.size());
        else
            function->bar_read(bar, offset + at, into);
    }
};

} // namespace sw::nvme

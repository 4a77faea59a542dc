// Memory of a node that messages lie in: regions of equal size, in DRAM of its host or in VRAM, seen as one row of
// slots. Knows where each slot is, for the HCA and for us.
#pragma once

#include "platform/topology/platform_module.h"
#include "sw/gpu/gpu.h"
#include "sw/verbs/verbs.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

namespace load {

/// A place in memory, as the HCA has it and as we see it.
struct Place {
    std::uint64_t address = 0; ///< of work requests
    std::uint32_t key = 0;     ///< local and remote
    std::byte* data = nullptr;
    std::uint64_t offset = 0; ///< in VRAM, where it is there
};

/// What regions are made with.
struct RegionSource {
    sw::verbs::Context& context;
    abi::Pd pd{};
    sw::gpu::Gpu* gpu = nullptr; ///< VRAM; nullptr: of the host
    platform::topology::PlacedCard* gpu_card = nullptr;
};

class Memory {
public:
    Memory() = default;
    /// Makes `regions` of `region_bytes`, with pages of at most `page_bytes`. Throws when the driver refuses it.
    Memory(const RegionSource& source, std::uint32_t regions, std::uint64_t region_bytes, std::uint64_t page_bytes,
           std::uint64_t stride);

    std::uint64_t stride() const { return stride_; }
    /// Places of `stride` bytes.
    std::uint64_t slots() const { return slots_per_region_ * parts_.size(); }
    Place slot(std::uint64_t number) const {
        const auto& part = parts_[number / slots_per_region_];
        const auto offset = number % slots_per_region_ * stride_;
        return {part.region->iova().value + offset, part.region->rkey(), part.bytes.data() + offset,
                part.vram_offset + offset};
    }
    /// We have written there, which a recording has to know of VRAM.
    void note_filled(const Place& place, std::uint64_t bytes) const {
        if (card_ != nullptr)
            card_->filled(place.offset, bytes);
    }

private:
    struct Part {
        sw::memory::Buffer host{};
        std::optional<sw::gpu::VramBuffer> vram{};
        std::unique_ptr<sw::verbs::MemoryRegion> region;
        std::span<std::byte> bytes{};
        std::uint64_t vram_offset = 0;
    };
    std::deque<Part> parts_;
    platform::topology::PlacedCard* card_ = nullptr;
    std::uint64_t stride_ = 64, slots_per_region_ = 1;
};

} // namespace load

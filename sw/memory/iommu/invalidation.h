// The invalidation queue of a remapping unit, from the driver's side (VT-d "Queued Invalidation Interface"): takes a
// batch of descriptors and waits until the unit has carried all of them out. A unit that finds a mistake stops its
// queue: the driver gets the error, and the queue goes on behind the descriptor that was wrong.
#pragma once

#include "abi/iommu/invalidation.h"
#include "abi/iommu/registers.h"
#include "abi/iommu/tables.h"
#include "sw/memory/buffer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sw::memory::iommu {

using Descriptor = std::array<std::byte, 16>;

class InvalidationQueue {
public:
    static Result<InvalidationQueue> create(transport::Transport& machine);

    /// The value of the address register. Descriptors have 128 bits.
    abi::iommu::QueueAddress address() const;
    /// As many as fit at once.
    static constexpr std::size_t max_batch = 128;
    /// Returns when all are done. ETIMEDOUT when a device does not answer, EIO when the unit found a mistake.
    Result<void> run(std::span<const Descriptor> batch);

private:
    explicit InvalidationQueue(transport::Transport& machine) : machine_(&machine) {}
    void push(const Descriptor& descriptor);
    Result<void> take_error();

    transport::Transport* machine_;
    Buffer ring_, status_; ///< the queue; the word that a wait descriptor writes
    std::size_t tail_ = 0; ///< bytes
    std::uint32_t sequence_ = 0;
};

/// Descriptors for the pages of [iova, +bytes): ranges of 2^n pages at multiples of their size, n at most `max_mask`.
std::vector<Descriptor> page_descriptors(std::uint16_t domain, std::uint64_t iova, std::uint64_t bytes,
                                         unsigned max_mask, bool leaves_only);
/// The same for the TLB of a function.
std::vector<Descriptor> device_tlb_descriptors(std::uint16_t requester, std::uint64_t iova, std::uint64_t bytes);

} // namespace sw::memory::iommu

// The driver of a remapping unit: root and context tables, the invalidation queue, faults (VT-d "Programming
// Considerations"). The unit is reached as a function is: its registers are BAR 0 of `machine`, whose memory has
// physical addresses. Which device has which address space is decided here; AddressSpace decides what is mapped
// there.
#pragma once

#include "abi/iommu/fault.h"
#include "abi/iommu/invalidation.h"
#include "abi/iommu/registers.h"
#include "abi/iommu/tables.h"
#include "sw/memory/buffer.h"
#include "sw/memory/iommu/invalidation.h"
#include "sw/memory/iommu/page_table.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sw::memory::iommu {

class AddressSpace;

struct UnitOptions {
    unsigned levels = 4;
    bool pages_2m = true, pages_1g = true; ///< where the unit has them
};

/// A request that the unit refused.
struct Fault {
    std::uint16_t requester = 0;
    std::uint64_t address = 0; ///< of the page
    bool is_write = false;
    std::optional<std::uint32_t> pasid;
    abi::iommu::FaultReason reason{};
};
std::string to_string(const Fault& fault);

class Unit {
public:
    /// Takes the unit over and turns translation on: from then on a device that is not attached reaches nothing.
    static Result<std::unique_ptr<Unit>> open(transport::Transport& machine, const UnitOptions& options = {});
    ~Unit();
    Unit(const Unit&) = delete;
    Unit& operator=(const Unit&) = delete;
    /// Turns translation off; no address space may be left.
    Result<void> close();

    /// `requester` (bus 8, device 5, function 3 bits) uses `space` from now on. EBUSY when it has one, EINVAL when the
    /// space belongs to another unit.
    Result<void> attach(std::uint16_t requester, AddressSpace& space, bool has_device_tlb = false);
    /// It reaches nothing from now on. ENOENT when it was not attached.
    Result<void> detach(std::uint16_t requester);

    /// Faults recorded since the last call, oldest first; their records are free again.
    std::vector<Fault> take_faults();
    /// Whether faults were lost since the last call, because no record was free.
    bool take_overflow();

    /// A mistake on purpose, for tests of tools that must find it: the next `count` invalidations of pages are omitted.
    void plant_missing_invalidations(unsigned count) { missing_invalidations_ = count; }

    /// Memory that functions behind this unit have by addresses of their own: where it is physically. Who wants to map
    /// it for another function asks.
    void note_memory(const std::byte* data, std::uint64_t physical) { memory_[data] = physical; }
    void forget_memory(const std::byte* data) { memory_.erase(data); }
    std::optional<std::uint64_t> find_memory(const std::byte* data) const {
        const auto found = memory_.find(data);
        return found != memory_.end() ? std::optional(found->second) : std::nullopt;
    }

    const abi::iommu::Capability& capability() const { return capability_; }
    const abi::iommu::ExtendedCapability& extended_capability() const { return extended_; }
    transport::Transport& machine() { return machine_; }
    PageTableFormat format() const;

private:
    friend class AddressSpace;
    struct Attachment {
        AddressSpace* space;
        bool has_device_tlb;
    };
    Unit(transport::Transport& machine, const UnitOptions& options) : machine_(machine), options_(options) {}
    Result<void> start();
    Result<void> command(abi::iommu::GlobalCommand bits, std::uint32_t wanted, std::string_view what);
    Result<std::byte*> context_of(std::uint16_t requester);
    Result<std::uint16_t> take_domain();
    void release_domain(std::uint16_t domain) { domains_[domain] = false; }
    /// Entries of a domain have changed: when this returns no cache holds the old ones. `leaves_only`: no table was
    /// removed.
    Result<void> invalidate(const AddressSpace& space, std::uint64_t iova, std::uint64_t bytes, bool leaves_only);
    Result<void> forget_context(std::uint16_t requester, std::uint16_t domain);

    std::uint32_t read32(abi::iommu::Register offset);
    std::uint64_t read64(std::uint32_t offset);
    void write32(abi::iommu::Register offset, std::uint32_t value);
    void write64(abi::iommu::Register offset, std::uint64_t value);

    transport::Transport& machine_;
    UnitOptions options_;
    abi::iommu::Capability capability_;
    abi::iommu::ExtendedCapability extended_;
    Buffer root_;
    std::map<std::uint8_t, Buffer> contexts_; ///< by bus
    std::optional<InvalidationQueue> queue_;
    std::vector<bool> domains_; ///< taken
    std::map<std::uint16_t, Attachment> attached_;
    std::map<const std::byte*, std::uint64_t> memory_; ///< physical address
    unsigned missing_invalidations_ = 0;
    bool is_open_ = false;
};

} // namespace sw::memory::iommu

// The tables of scalable mode: root and context tables lead to a PASID directory, the directory to a PASID table, and
// the entry there says how addresses of the PASID are translated. A request without PASID uses the one its context
// names. VT-d "Scalable Mode Context Entry", "Scalable Mode PASID Table Entry", "PASID-Cache".
#pragma once

#include "abi/iommu/tables.h"
#include "model/iommu/address_space.h"
#include "model/iommu/associative.h"
#include "model/iommu/request.h"

#include <cstdint>

namespace model::iommu {

/// What a context entry of scalable mode says.
struct PasidContext {
    abi::iommu::FaultReason fault{};
    bool is_recorded = true;
    bool has_device_tlb = false, has_pasid = false, has_page_requests = false, is_supervisor = false;
    std::uint64_t directory = 0, directory_entries = 0;
    std::uint32_t default_pasid = 0;
};

class PasidTable {
public:
    PasidTable(const IommuConfig& config, port::Dma& memory)
        : config_(config), memory_(memory), contexts_(config.contexts), pasids_(config.pasids) {}

    /// Valid until the next call that changes anything.
    const AddressSpace& find(std::uint64_t root, const Request& request, WalkCost& cost);
    /// Looks up the requester only: page requests need no more.
    const PasidContext& context_of(std::uint64_t root, std::uint16_t requester, WalkCost& cost);

    void forget_contexts() { contexts_.clear(); }
    /// Forgets requesters that equal `requester` in all bits but those of `ignored`.
    void forget_requester(std::uint16_t requester, std::uint16_t ignored);
    void forget_pasids() { pasids_.clear(); }
    void forget_domain(std::uint16_t domain);
    void forget_pasid(std::uint16_t domain, std::uint32_t pasid);

    const CacheCounters& context_counters() const { return contexts_.counters(); }
    const CacheCounters& pasid_counters() const { return pasids_.counters(); }

private:
    PasidContext look_up_context(std::uint64_t root, std::uint16_t requester, WalkCost& cost) const;
    AddressSpace look_up(const PasidContext& context, std::uint32_t pasid, WalkCost& cost) const;
    AddressSpace decode(const abi::iommu::PasidEntry& entry, std::uint32_t pasid) const;
    bool is_beyond(std::uint64_t address) const { return address >> config_.host_address_bits != 0; }

    const IommuConfig& config_;
    port::Dma& memory_;
    Associative<PasidContext> contexts_;
    Associative<AddressSpace> pasids_;
    PasidContext found_context_;
    AddressSpace found_; ///< the last ones, when no cache can hold them
};

} // namespace model::iommu

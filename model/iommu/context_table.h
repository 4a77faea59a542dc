// Whose request is this: root and context tables, and what is kept of them. From a requester to its address space, or
// to the fault that ends the request. VT-d "Source Identifier to Domain Mapping", "Context-Cache".
#pragma once

#include "abi/iommu/registers.h"
#include "abi/iommu/tables.h"
#include "model/iommu/address_space.h"
#include "model/iommu/associative.h"
#include "model/iommu/request.h"

#include <cstdint>

namespace model::iommu {

class ContextTable {
public:
    ContextTable(const IommuConfig& config, port::Dma& memory)
        : config_(config), memory_(memory), cache_(config.contexts) {}

    /// Valid until the next call that changes anything.
    const AddressSpace& find(std::uint64_t root, const Request& request, WalkCost& cost);

    void forget_all() { cache_.clear(); }
    void forget_domain(std::uint16_t domain);
    /// Requesters that equal `requester` outside `ignored`, as far as they belong to the domain.
    void forget_requester(std::uint16_t domain, std::uint16_t requester, std::uint16_t ignored);

    const CacheCounters& counters() const { return cache_.counters(); }

private:
    AddressSpace look_up(std::uint64_t root, std::uint16_t requester, WalkCost& cost) const;

    const IommuConfig& config_;
    port::Dma& memory_;
    Associative<AddressSpace> cache_;
    AddressSpace found_; ///< the last one that is in no cache
};

} // namespace model::iommu

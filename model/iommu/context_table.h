// Root and context tables, and the cache of them: they lead from a requester to its address space, or to the fault that
// ends the request. VT-d "Source Identifier to Domain Mapping", "Context-Cache".
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
    /// Forgets requesters of the domain that equal `requester` in all bits but those of `ignored`.
    void forget_requester(std::uint16_t domain, std::uint16_t requester, std::uint16_t ignored);

    const CacheCounters& counters() const { return cache_.counters(); }

private:
    AddressSpace look_up(std::uint64_t root, std::uint16_t requester, WalkCost& cost) const;

    const IommuConfig& config_;
    port::Dma& memory_;
    Associative<AddressSpace> cache_;
    AddressSpace found_; ///< the last one, when no cache can hold it
};

} // namespace model::iommu

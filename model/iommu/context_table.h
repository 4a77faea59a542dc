// Whose request is this: root and context tables, and what is kept of them. From a requester to its address space, or
// to the fault that ends the request. VT-d "Source Identifier to Domain Mapping", "Context-Cache".
#pragma once

#include "abi/iommu/registers.h"
#include "abi/iommu/tables.h"
#include "model/iommu/associative.h"
#include "model/iommu/page_table.h"
#include "model/iommu/request.h"

#include <cstdint>

namespace model::iommu {

/// What the tables say of a requester.
struct AddressSpace {
    abi::iommu::FaultReason fault{}; ///< other than `none`: every request ends with it
    bool is_recorded = true;         ///< of this address space's faults: FPD is clear, or the fault came before it
    bool is_pass_through = false;
    bool has_device_tlb = false; ///< requests with other address types than untranslated are let in
    std::uint16_t domain = 0;
    unsigned address_bits = 0; ///< of the requester's addresses
    TableRoot tables;
};

class ContextTable {
public:
    ContextTable(const IommuConfig& config, port::Dma& memory)
        : config_(config), memory_(memory), cache_(config.contexts) {}

    void set_root(abi::iommu::RootTableAddress root) { root_ = root; }

    /// Valid until the next call that changes anything.
    const AddressSpace& find(const Request& request, WalkCost& cost);

    void forget_all() { cache_.clear(); }
    void forget_domain(std::uint16_t domain);
    /// Requesters that equal `requester` outside `ignored`, as far as they belong to the domain.
    void forget_requester(std::uint16_t domain, std::uint16_t requester, std::uint16_t ignored);

    const CacheCounters& counters() const { return cache_.counters(); }

private:
    AddressSpace look_up(std::uint16_t requester, WalkCost& cost) const;

    const IommuConfig& config_;
    port::Dma& memory_;
    abi::iommu::RootTableAddress root_;
    Associative<AddressSpace> cache_;
    AddressSpace found_; ///< the last one that is in no cache
};

} // namespace model::iommu

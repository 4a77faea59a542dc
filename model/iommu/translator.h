// Translates a request: finds its address space, its page and its rights, and keeps the result in the IOTLB until it is
// invalidated or replaced. Gives an address, or records the fault. Moves no data.
// VT-d "DMA Remapping", "IOTLB", "Support for Device-TLBs".
#pragma once

#include "model/iommu/context_table.h"
#include "model/iommu/fault_log.h"
#include "model/iommu/listener.h"
#include "model/iommu/page_table.h"
#include "model/iommu/pasid_table.h"

#include <array>
#include <cstdint>

namespace model::iommu {

class Translator {
public:
    Translator(const IommuConfig& config, port::Dma& memory, FaultLog& faults, Listener* listener);

    Translation translate(const Request& request, port::Time at);

    void set_root(abi::iommu::RootTableAddress root);
    void set_enabled(bool is_enabled);
    bool is_enabled() const { return is_enabled_; }
    abi::iommu::TableMode mode() const { return root_.get<"ttm">(); }
    std::uint64_t root() const { return root_.get<"rta">(); }
    PasidTable& pasids() { return pasids_; }

    // Context cache. In scalable mode contexts have no domain.
    void forget_contexts();
    void forget_contexts(std::uint16_t domain);
    void forget_contexts(std::uint16_t domain, std::uint16_t requester, std::uint16_t ignored);
    // PASID cache.
    void forget_pasids();
    void forget_pasids(std::uint16_t domain);
    void forget_pasids(std::uint16_t domain, std::uint32_t pasid);
    // IOTLB, and with it the upper levels of paging structures, unless only leaves have changed.
    void forget_pages();
    void forget_pages(std::uint16_t domain);
    void forget_pages(std::uint16_t domain, std::uint64_t begin, std::uint64_t bytes, bool is_leaf_only);
    // First-stage translations of a PASID.
    void forget_pages_of(std::uint16_t domain, std::uint32_t pasid);
    void forget_pages_of(std::uint16_t domain, std::uint32_t pasid, std::uint64_t begin, std::uint64_t bytes,
                         bool is_leaf_only);

    const CacheCounters& iotlb_counters() const { return iotlb_.counters(); }
    const CacheCounters& context_counters() const {
        return mode() == abi::iommu::TableMode::scalable ? pasids_.context_counters() : contexts_.counters();
    }
    const CacheCounters& pasid_counters() const { return pasids_.pasid_counters(); }
    const PageTable& page_table() const { return pages_; }

private:
    struct Cached {
        Page page;
        abi::iommu::FaultReason fault{}; ///< in caching mode: the fault, where there is no page
    };
    /// Sizes a page can have.
    static constexpr std::array<std::uint8_t, 3> shifts{12, 21, 30};

    static CacheKey key_of(std::uint64_t owner, std::uint64_t address, std::size_t size);
    Cached* look_up(std::uint64_t owner, std::uint64_t address);
    const AddressSpace& find_space(const Request& request, WalkCost& cost);
    abi::iommu::FaultReason admit(const Request& request, const AddressSpace& space) const;
    Translation pass(const Request& request, const AddressSpace& space, const WalkCost& cost);
    Translation finish(const Request& request, const AddressSpace& space, const Page& page, const WalkCost& cost);
    Translation refuse(const Request& request, abi::iommu::FaultReason reason, bool is_recorded, const WalkCost& cost);
    Translation interrupt(const Request& request, WalkCost& cost);
    template <class Owns> void drop(Owns&& owns);
    template <class Owns> void drop(Owns&& owns, std::uint64_t begin, std::uint64_t last, bool is_leaf_only);
    void tell(const Gone& gone);

    const IommuConfig& config_;
    FaultLog& faults_;
    Listener* listener_;
    ContextTable contexts_;
    PasidTable pasids_;
    PageTable pages_;
    Associative<Cached> iotlb_;
    std::array<bool, shifts.size()> kept_{}; ///< whether there were pages of a size since the cache was last emptied
    abi::iommu::RootTableAddress root_;
    AddressSpace no_mode_;
    bool is_enabled_ = false;
};

} // namespace model::iommu

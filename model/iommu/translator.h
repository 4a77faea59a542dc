// The path of a request: its address space, its page, its rights; what is found is kept in the IOTLB until it is
// invalidated or makes room. Receives requests; gives addresses, or records the fault. Moves no data.
// VT-d "DMA Remapping", "IOTLB", "Invalidation of Translation Caches".
#pragma once

#include "model/iommu/context_table.h"
#include "model/iommu/fault_log.h"
#include "model/iommu/listener.h"
#include "model/iommu/page_table.h"

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

    // Context cache.
    void forget_contexts();
    void forget_contexts(std::uint16_t domain);
    void forget_contexts(std::uint16_t domain, std::uint16_t requester, std::uint16_t ignored);
    // IOTLB, and with it the upper levels of paging structures, unless only leaves have changed.
    void forget_pages();
    void forget_pages(std::uint16_t domain);
    void forget_pages(std::uint16_t domain, std::uint64_t begin, std::uint64_t bytes, bool is_leaf_only);

    const CacheCounters& iotlb_counters() const { return iotlb_.counters(); }
    const CacheCounters& context_counters() const { return contexts_.counters(); }
    const PageTable& page_table() const { return pages_; }

private:
    struct Cached {
        Page page;
        abi::iommu::FaultReason fault{}; ///< in caching mode: why there is none
    };
    /// Sizes a page can have, by their place in `shifts`.
    static constexpr std::array<std::uint8_t, 3> shifts{12, 21, 30};

    static CacheKey key_of(std::uint64_t owner, std::uint64_t address, std::size_t size);
    Cached* look_up(std::uint64_t owner, std::uint64_t address);
    Translation finish(const Request& request, const AddressSpace& space, const Page& page, const WalkCost& cost);
    Translation refuse(const Request& request, abi::iommu::FaultReason reason, bool is_recorded, const WalkCost& cost);
    void tell(const Gone& gone);

    const IommuConfig& config_;
    FaultLog& faults_;
    Listener* listener_;
    ContextTable contexts_;
    PageTable pages_;
    Associative<Cached> iotlb_;
    std::array<bool, shifts.size()> kept_{}; ///< whether pages of a size were brought in since the last clearing
    bool is_enabled_ = false;
};

} // namespace model::iommu

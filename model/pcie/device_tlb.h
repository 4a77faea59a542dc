// The TLB of a function that translates its own addresses. It keeps what translation completions said until the
// remapping unit invalidates an entry or another entry needs the place. It sends no requests: AtsInitiator decides what
// to do on a miss. PCIe 6.0 §10.
#pragma once

#include "model/iommu/associative.h"
#include "model/port/time.h"

#include <array>
#include <cstdint>
#include <optional>

namespace model::pcie {

/// The TLB of a function; with no entries the root complex translates for the function.
struct AtsConfig {
    std::uint32_t entries = 0, ways = 8;
    port::Time hit_latency{};       ///< of each look-up
    bool has_page_requests = false; ///< the function may ask for pages
    unsigned pasid_bits = 0;        ///< 0: its requests have no PASIDs
};

class DeviceTlb {
public:
    struct Entry {
        std::uint64_t address = 0; ///< of the page, as translated requests have it
        std::uint8_t shift = 12;   ///< the page has 2^shift bytes
        bool is_readable = false, is_writable = false;
        bool is_untranslated_only = false; ///< requests go out with the address as it is
    };

    explicit DeviceTlb(const AtsConfig& config) : entries_({.entries = config.entries, .ways = config.ways}) {}

    /// The entry that allows the access. Its address is that of the page. Counts nothing.
    std::optional<Entry> find(std::uint32_t pasid, std::uint64_t address, bool is_write);
    void insert(std::uint32_t pasid, std::uint64_t address, const Entry& entry);
    /// Drops pages that touch [begin, begin + bytes), or all where bytes is 0. `pasid` may be no_pasid: then those of
    /// requests without a PASID.
    void invalidate(std::uint32_t pasid, bool is_global, std::uint64_t begin, std::uint64_t bytes);
    void clear() { entries_.clear(); }

    void note(bool is_hit) { entries_.note(is_hit); }
    const iommu::CacheCounters& counters() const { return entries_.counters(); }

private:
    static constexpr std::array<std::uint8_t, 3> shifts{12, 21, 30};
    static iommu::CacheKey key_of(std::uint32_t pasid, std::uint64_t address, std::size_t size) {
        return {.owner = (std::uint64_t{pasid} + 1) | std::uint64_t{size} << 62, .page = address >> shifts[size]};
    }

    iommu::Associative<Entry> entries_;
};

} // namespace model::pcie

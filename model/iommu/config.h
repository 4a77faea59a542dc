// What a remapping unit has: address widths, page sizes, features, caches. Its capability registers follow from this
// and from nothing else, so that nothing is advertised that is not built.
#pragma once

#include "abi/iommu/registers.h"

#include <cstdint>

namespace model::iommu {

struct CacheShape {
    std::uint32_t entries = 0; ///< 0: nothing is cached
    std::uint32_t ways = 1;
};

struct IommuConfig {
    unsigned host_address_bits = 46;  ///< width of the addresses in tables
    unsigned guest_address_bits = 57; ///< MGAW
    bool three_levels = false, four_levels = true, five_levels = true;
    bool pages_2m = true, pages_1g = true;
    unsigned domain_bits = 16; ///< 4, 6, ... 16
    bool caching_mode = false; ///< entries that are not present may be cached, too
    bool pass_through = true;
    bool snoop_control = true;
    bool page_selective = true;     ///< invalidation of single pages
    unsigned max_address_mask = 18; ///< of one invalidation: 2^18 pages are 1 GiB
    bool zero_length_read = true;   ///< reads of no bytes may go to write-only pages
    unsigned fault_records = 8;     ///< 1 to 32
    bool device_tlb = false;        ///< translation requests, translated requests, invalidation of device-TLBs
    bool scalable_mode = false;     ///< contexts with PASID tables, descriptors of 256 bits
    bool first_stage = false;       ///< in scalable mode: tables in the processor's format, supervisor requests
    bool page_requests = false;     ///< in scalable mode, with device-TLBs: the page request queue

    CacheShape iotlb{64, 8};
    CacheShape contexts{64, 4};
    CacheShape pasids{64, 4};
    /// One cache for each level above the leaves: entries of level 2, 3, 4, 5.
    CacheShape structures{32, 4};
};

/// Fault records stand here, the registers of register-based invalidation there. Units of architecture version 6 have
/// no register-based invalidation: requests through CCMD and IOTLB end at once without effect.
inline constexpr std::uint32_t fault_record_offset = 0xc00, iotlb_offset = 0xb00;

inline constexpr unsigned pasid_bits = 20;

abi::iommu::Version version();
abi::iommu::Capability capability(const IommuConfig& config);
abi::iommu::ExtendedCapability extended_capability(const IommuConfig& config);

/// Whether tables of this many levels are supported: SAGAW.
bool has_levels(const IommuConfig& config, unsigned levels);

} // namespace model::iommu

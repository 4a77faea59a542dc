// Those who depend on translations of a remapping unit: requesters that keep direct paths through the unit, and devices
// with a TLB of their own.
#pragma once

#include "abi/iommu/invalidation.h"
#include "model/iommu/request.h"
#include "model/port/time.h"

#include <cstdint>
#include <optional>

namespace model::iommu {

/// Translations that may no longer be used: of one requester, one domain or everybody, for [begin, last] of their
/// addresses.
struct Gone {
    std::optional<std::uint16_t> requester{}, domain{};
    std::uint64_t begin = 0, last = ~std::uint64_t{0};
};

/// An invalidation request to a device (PCIe 6.0 §10.3).
struct DeviceInvalidation {
    std::uint16_t device = 0;
    std::uint32_t pasid = no_pasid;
    bool is_global = false; ///< of all PASIDs
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0; ///< 0: everything
};

/// A page group response to a device (PCIe 6.0 §10.4.2).
struct PageResponse {
    std::uint16_t device = 0;
    std::uint32_t pasid = no_pasid;
    std::uint16_t group = 0;
    abi::iommu::ResponseCode code{};
};

class Listener {
public:
    virtual ~Listener() = default;
    virtual void translations_gone(const Gone& gone) = 0;
    /// Returns when the device has completed the invalidation; no value when it does not answer.
    virtual std::optional<port::Time> invalidate_device(const DeviceInvalidation&, port::Time) { return std::nullopt; }
    virtual void page_response(const PageResponse&, port::Time) {}
    /// When every write that was let through up to now is in memory.
    virtual port::Time writes_landed() const { return {}; }
};

} // namespace model::iommu

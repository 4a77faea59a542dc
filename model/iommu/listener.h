// Who wants to know that translations have ended: holders of direct paths (their windows were found through the unit)
// and devices with a TLB of their own.
#pragma once

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

class Listener {
public:
    virtual ~Listener() = default;
    virtual void translations_gone(const Gone& gone) = 0;
};

} // namespace model::iommu

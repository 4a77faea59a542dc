#include "traces/event.h"

#include "abi/iommu/fault.h"
#include "abi/iommu/invalidation.h"

namespace traces {

std::string_view RemappingFault::reason() const {
    return abi::iommu::name(static_cast<abi::iommu::FaultReason>(fault));
}

std::string_view InvalidationStopped::reason() const {
    return error != 0 ? abi::iommu::name(static_cast<abi::iommu::QueueError>(error))
                      : "a device has not completed an invalidation in time";
}

} // namespace traces

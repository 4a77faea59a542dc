// The VT-d structures of abi/iommu as JSON: vtd_layouts.py holds them against the Intel IOMMU driver of Linux.
#include "abi/iommu/fault.h"
#include "abi/iommu/invalidation.h"
#include "abi/iommu/page_request.h"
#include "abi/iommu/registers.h"
#include "abi/iommu/tables.h"
#include "testbench/witness/dump.h"

#include <array>
#include <cstdio>

namespace {

using namespace abi::iommu;
using witness::dump_values;

/// Fields by their highest and lowest bit.
template <class Structure> void dump(const char* end = ",\n") {
    const auto place = [](const auto& field) { return std::array{field.high, field.low}; };
    witness::dump_structure<Structure>(place, end);
}

} // namespace

int main() {
    std::puts("{\"structures\": {");
    dump<Version>(), dump<Capability>(), dump<ExtendedCapability>();
    dump<GlobalCommand>(), dump<GlobalStatus>(), dump<RootTableAddress>();
    dump<ContextCommand>(), dump<InvalidateAddress>(), dump<IotlbInvalidate>();
    dump<FaultStatus>(), dump<EventControl>(), dump<FaultRecord>();
    dump<EventData>(), dump<EventAddress>(), dump<EventUpperAddress>();
    dump<QueueHead>(), dump<QueueTail>(), dump<QueueAddress>(), dump<CompletionStatus>(), dump<QueueErrorRecord>();
    dump<PageQueueHead>(), dump<PageQueueTail>(), dump<PageQueueAddress>(), dump<PageRequestStatus>();
    dump<RootEntry>(), dump<ContextEntry>();
    dump<ScalableRootEntry>(), dump<ScalableContextEntry>(), dump<PasidDirectoryEntry>(), dump<PasidEntry>();
    dump<SecondStageEntry>(), dump<FirstStageEntry>();
    dump<AnyDescriptor>(), dump<ContextCacheDescriptor>(), dump<IotlbDescriptor>(), dump<DeviceTlbDescriptor>();
    dump<WaitDescriptor>(), dump<PasidIotlbDescriptor>(), dump<PasidCacheDescriptor>();
    dump<PasidDeviceTlbDescriptor>(), dump<PageResponseDescriptor>();
    dump<PageRequestDescriptor>("\n");
    std::puts("}, \"values\": {");
    dump_values<Register>("register");
    dump_values<DescriptorType>("descriptor"), dump_values<FaultReason>("fault_reason", "\n");
    std::puts("}}");
}

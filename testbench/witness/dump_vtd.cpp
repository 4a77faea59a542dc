// The VT-d structures of abi/iommu as JSON: vtd_layouts.py holds them against the Intel IOMMU driver of Linux.
#include "abi/iommu/fault.h"
#include "abi/iommu/invalidation.h"
#include "abi/iommu/page_request.h"
#include "abi/iommu/registers.h"
#include "abi/iommu/tables.h"

#include <cstdio>
#include <string_view>
#include <type_traits>

namespace {

using namespace abi::iommu;

void print(const char* format, std::string_view name) {
    std::printf(format, static_cast<int>(name.size()), name.data());
}

template <class Structure> void dump(const char* end = ",\n") {
    print("  \"%.*s\": {", Structure::name.view());
    std::printf("\"bytes\": %zu, \"fields\": {", Structure::size);
    const char* separator = "";
    for (const auto& f : Structure::fields) {
        std::fputs(separator, stdout), separator = ", ";
        print("\"%.*s\": ", f.name);
        std::printf("[%u, %u]", f.high, f.low);
    }
    std::printf("}}%s", end);
}

template <class Enumeration> void dump_values(const char* name, const char* end = ",\n") {
    std::printf("  \"%s\": {", name);
    const char* separator = "";
    for (const auto& row : named(std::type_identity<Enumeration>{})) {
        std::fputs(separator, stdout), separator = ", ";
        print("\"%.*s\": ", row.id);
        std::printf("%u", static_cast<unsigned>(row.value));
    }
    std::printf("}%s", end);
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

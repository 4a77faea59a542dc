// The structures of abi/nvme/fabrics.h as JSON: fabrics_layouts.py holds them against headers of the Linux kernel.
#include "abi/nvme/fabrics.h"
#include "testbench/witness/dump.h"

#include <cstdio>

namespace {

using namespace abi::nvme;
using witness::dump_values;

template <class Structure> void dump(const char* end = ",\n") {
    witness::dump_structure<Structure>(witness::bits_of, end);
}

} // namespace

int main() {
    std::puts("{\"structures\": {");
    dump<FabricsCommand>(), dump<Connect>(), dump<ConnectData>(), dump<PropertySet>(), dump<PropertyGet>();
    dump<KeyedSglDescriptor>(), dump<RdmaRequest>(), dump<RdmaAccept>(), dump<RdmaReject>("\n");
    std::puts("}, \"values\": {");
    dump_values<FabricsType>("type"), dump_values<FabricsStatus>("status"), dump_values<SglType>("sgl_type");
    dump_values<SglSubtype>("sgl_subtype"), dump_values<RdmaRejection>("rejection", "\n}}\n");
    return 0;
}

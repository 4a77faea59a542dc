// The structures of abi/nvme/fabrics.h as JSON: fabrics_layouts.py holds them against headers of the Linux kernel.
#include "abi/nvme/fabrics.h"

#include <cstdio>
#include <string_view>
#include <type_traits>

namespace {

using namespace abi::nvme;

void print(const char* format, std::string_view name) {
    std::printf(format, static_cast<int>(name.size()), name.data());
}

/// Fields by their first bit and width, counted from the begin of the structure.
template <class Structure> void dump(const char* end = ",\n") {
    print("  \"%.*s\": {", Structure::name.view());
    std::printf("\"bytes\": %zu, \"fields\": {", Structure::size);
    const char* separator = "";
    for (const auto& f : Structure::fields) {
        const bool is_bits = f.kind == abi::FieldKind::bits;
        std::fputs(separator, stdout), separator = ", ";
        print("\"%.*s\": ", f.name);
        std::printf("[%zu, %zu]", 8 * f.offset + (is_bits ? f.low : 0),
                    is_bits ? std::size_t{f.high - f.low + 1} : 8 * f.bytes);
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
    dump<FabricsCommand>(), dump<Connect>(), dump<ConnectData>(), dump<PropertySet>(), dump<PropertyGet>();
    dump<KeyedSglDescriptor>(), dump<RdmaRequest>(), dump<RdmaAccept>(), dump<RdmaReject>("\n");
    std::puts("}, \"values\": {");
    dump_values<FabricsType>("type"), dump_values<FabricsStatus>("status"), dump_values<SglType>("sgl_type");
    dump_values<SglSubtype>("sgl_subtype"), dump_values<RdmaRejection>("rejection", "\n}}\n");
    return 0;
}

// What programs print that show layouts to scripts: members of JSON objects, a structure with its fields or an
// enumeration with its values.
#pragma once

#include "abi/layout.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <type_traits>

namespace witness {

inline void print(const char* format, std::string_view name) {
    std::printf(format, static_cast<int>(name.size()), name.data());
}

/// Where a field is: its first bit, from the begin of the structure, and its width in bits.
inline std::array<std::size_t, 2> bits_of(const abi::FieldInfo& field) {
    const bool is_bits = field.kind == abi::FieldKind::bits;
    return {8 * field.offset + (is_bits ? field.low : 0),
            is_bits ? std::size_t{field.high - field.low + 1} : 8 * field.bytes};
}

/// `place`: two numbers that say where a field is. `end`: what comes behind the structure.
template <class Structure, class Place> void dump_structure(Place place, const char* end) {
    print("  \"%.*s\": {", Structure::name.view());
    std::printf("\"bytes\": %zu, \"fields\": {", Structure::size);
    const char* separator = "";
    for (const auto& field : Structure::fields) {
        const auto [first, second] = place(field);
        std::fputs(separator, stdout), separator = ", ";
        print("\"%.*s\": ", field.name);
        std::printf("[%zu, %zu]", std::size_t{first}, std::size_t{second});
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

} // namespace witness

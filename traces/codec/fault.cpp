#include "traces/codec/fault.h"

#include <fmt/format.h>

#include <array>

namespace traces::codec {

std::string_view name(FaultKind kind) {
    constexpr std::array<std::string_view, 6> names{"unreadable", "foreign", "newer",
                                                    "truncated",  "corrupt", "excessive"};
    return names[static_cast<std::size_t>(kind)];
}

std::string Fault::text() const {
    const auto where = block != 0 ? fmt::format("block {}; ", block) : std::string();
    return fmt::format("{}: {} ({}byte {} of the file, byte {} decompressed)", name(kind), reason, where, file_offset,
                       offset);
}

} // namespace traces::codec

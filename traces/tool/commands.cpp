#include "traces/tool/commands.h"

namespace traces::tool {

std::optional<std::uint64_t> find_row(const abi::LayoutInfo& layout, std::span<const std::byte> bytes,
                                      std::string_view name) {
    for (const auto& row : layout.rows) {
        if (row.field.offset + row.field.bytes > bytes.size())
            continue;
        if (row.nested != nullptr) {
            if (const auto inside = find_row(*row.nested, bytes.subspan(row.field.offset), name))
                return inside;
        } else if (row.field.name == name && row.field.kind != abi::FieldKind::raw) {
            return value_of(layout, row.field, bytes);
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> input(const Command& command, std::string_view row) {
    const auto layouts = layouts_of(command.opcode());
    return layouts.in != nullptr ? find_row(*layouts.in, command.in, row) : std::nullopt;
}
std::optional<std::uint64_t> output(const Command& command, std::string_view row) {
    const auto layouts = layouts_of(command.opcode());
    return layouts.out != nullptr ? find_row(*layouts.out, command.out, row) : std::nullopt;
}

} // namespace traces::tool

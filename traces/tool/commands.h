// What the rows of a command's input and output say, by their names in the layouts of abi/. Which commands there are,
// traces/commands reads.
#pragma once

#include "abi/print.h"
#include "traces/commands/command_reader.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace traces::tool {

using commands::Command;
using commands::CommandReader;

/// The layouts of a command's input and output; null where abi/ has none.
struct CommandLayouts {
    const abi::LayoutInfo* in = nullptr;
    const abi::LayoutInfo* out = nullptr;
};
CommandLayouts layouts_of(abi::prm::Opcode opcode);

/// The value of the row `name` of a layout, of whatever depth; nothing: there is none, or the bytes end before it.
std::optional<std::uint64_t> find_row(const abi::LayoutInfo& layout, std::span<const std::byte> bytes,
                                      std::string_view name);
/// The same of a command's input or output.
std::optional<std::uint64_t> input(const Command& command, std::string_view row);
std::optional<std::uint64_t> output(const Command& command, std::string_view row);

} // namespace traces::tool

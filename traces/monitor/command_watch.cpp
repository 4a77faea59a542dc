#include "traces/monitor/command_watch.h"

namespace traces::monitor {

std::optional<CommandWatch::Done> CommandWatch::memory_written(std::uint64_t address,
                                                               std::span<const std::byte> bytes) {
    const auto seen = reader_.memory_written(address, bytes);
    if (!seen || seen->part != commands::CommandReader::Part::hand_over || !seen->command->is_good())
        return std::nullopt;
    auto& command = *seen->command; // over, so that nobody else wants its bytes
    return Done{.opcode = command.opcode(), .in = std::move(command.in), .out = std::move(command.out)};
}

} // namespace traces::monitor

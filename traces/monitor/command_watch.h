// The command interface of one function, seen from the bus: which of the driver's commands have succeeded, and which
// addresses are its (PRM "Command interface"). How commands are read, traces/commands knows.
#pragma once

#include "traces/commands/command_reader.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace traces::monitor {

class CommandWatch {
public:
    /// A command that has succeeded: input and output without their mailboxes.
    struct Done {
        abi::prm::Opcode opcode{};
        std::vector<std::byte> in, out;
    };
    /// A write to BAR 0.
    void register_written(std::uint64_t offset, std::span<const std::byte> bytes) {
        reader_.register_written(offset, bytes);
    }
    /// The device has read these bytes of host memory.
    void memory_read(std::uint64_t address, std::span<const std::byte> bytes) {
        reader_.memory_read(address, bytes, 0); // when, nobody asks
    }
    /// The device has written them; a command may be over by that.
    std::optional<Done> memory_written(std::uint64_t address, std::span<const std::byte> bytes);
    /// Whether the address belongs to the queue or to a mailbox of a command under way.
    bool has(std::uint64_t address) const { return slot_of(address).has_value(); }
    /// Whose entry or mailbox that is.
    std::optional<unsigned> slot_of(std::uint64_t address) const { return reader_.slot_of(address); }
    bool is_entry(std::uint64_t address) const { return reader_.is_entry(address); }
    void reset() { reader_.reset(); }

private:
    commands::CommandReader reader_;
};

} // namespace traces::monitor

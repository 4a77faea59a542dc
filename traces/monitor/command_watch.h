// The command interface of one function, seen from the bus: which commands the driver has given, by what the device
// reads of the command queue and its mailboxes, and what it has answered (PRM "Command interface").
#pragma once

#include "abi/prm/command.h"

#include <array>
#include <cstdint>
#include <map>
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
    void register_written(std::uint64_t offset, std::span<const std::byte> bytes);
    /// The device has read these bytes of host memory.
    void memory_read(std::uint64_t address, std::span<const std::byte> bytes);
    /// The device has written them; a command may be over by that.
    std::optional<Done> memory_written(std::uint64_t address, std::span<const std::byte> bytes);
    /// Whether the address belongs to the queue or to a mailbox of a command under way.
    bool has(std::uint64_t address) const { return slot_of(address).has_value(); }
    /// Whose entry or mailbox that is.
    std::optional<unsigned> slot_of(std::uint64_t address) const;
    bool is_entry(std::uint64_t address) const { return slot_at(address).has_value(); }
    void reset() { *this = {}; }

private:
    static constexpr unsigned slots = 32; ///< one bit each in the doorbell
    struct Command {
        std::vector<std::byte> in, out;
        std::size_t in_length = 0, out_length = 0;
        std::uint64_t next_in = 0; ///< the next mailbox of the input
        std::vector<std::uint64_t> in_boxes, out_boxes;
    };
    void entry_read(unsigned slot, std::span<const std::byte> bytes);
    std::optional<unsigned> slot_at(std::uint64_t address) const;

    std::array<std::byte, 8> address_register_{};
    std::uint64_t base_ = 0; ///< 0: not told
    std::map<unsigned, Command> commands_;
};

} // namespace traces::monitor

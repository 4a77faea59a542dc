// Commands of a function's driver, as they show in its DMA: the entry of the command queue, the chains of mailboxes,
// the answer, and the byte that hands the entry back. Knows of objects only that their numbers have names.
#pragma once

#include "abi/prm/command.h"
#include "abi/print.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace traces::tool {

/// The layouts of a command's input and output; null where abi/ has none.
struct CommandLayouts {
    const abi::LayoutInfo* in = nullptr;
    const abi::LayoutInfo* out = nullptr;
};
CommandLayouts layouts_of(abi::prm::Opcode opcode);

/// The value of the row `name` of a layout, of whatever depth; nothing: there is none, or the bytes end before it.
std::optional<std::uint64_t> find_row(const abi::LayoutInfo& layout, std::span<const std::byte> bytes,
                                      std::string_view name);

struct Command {
    unsigned slot = 0;
    std::int64_t began_ps = 0;
    std::vector<std::byte> in, out; ///< with the first 16 bytes
    std::size_t in_length = 0, out_length = 0;
    abi::prm::DeliveryStatus delivery{};

    abi::prm::Opcode opcode() const;
    abi::prm::Status status() const; ///< of the answer
    bool is_good() const;
    std::optional<std::uint64_t> input(std::string_view row) const;
    std::optional<std::uint64_t> output(std::string_view row) const;
};

class Commands {
public:
    static constexpr unsigned slots = 32;
    enum class Part : std::uint8_t { entry, input, output_place, output, answer, hand_over };
    struct Seen {
        Part part;
        Command* command; ///< valid until its slot gets another one
    };

    /// Software has told the high half (of 0), or the low half of the queue's address.
    void set_queue_high(std::uint32_t value) { address_ = (address_ & 0xffff'ffff) | std::uint64_t{value} << 32; }
    void set_queue_low(std::uint32_t value) { address_ = (address_ & ~std::uint64_t{0xffff'ffff}) | (value & ~0xfffu); }
    /// What the device has read (an answer) or written at `address`; nothing: no part of a command.
    std::optional<Seen> read(std::uint64_t address, std::span<const std::byte> bytes, std::int64_t time_ps);
    std::optional<Seen> written(std::uint64_t address, std::span<const std::byte> bytes);
    void reset() { slots_ = {}; }

private:
    struct Slot {
        bool is_used = false;
        Command command;
        std::uint64_t next_in = 0, next_out = 0; ///< where the next block of each chain is
        std::vector<std::uint64_t> out_blocks;   ///< of the output's chain, in its order
    };
    std::array<Slot, slots> slots_;
    std::uint64_t address_ = 0;
};

} // namespace traces::tool

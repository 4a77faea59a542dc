// Commands of a function's driver, as they show in its DMA (PRM "Command interface"): the entry of the command queue,
// the chains of mailboxes, the answer, and the byte that hands the entry back. Receives what software writes to BAR 0
// and what the device reads and writes of host memory; gives the commands. What it reads may be damaged: lengths,
// addresses and chains are claims, and only what an access has brought takes memory.
#pragma once

#include "abi/prm/command.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace traces::commands {

struct Command {
    unsigned slot = 0;
    std::int64_t began_ps = 0;
    std::vector<std::byte> in, out;            ///< without mailboxes, with the first 16 bytes, which are always there
    std::size_t in_length = 0, out_length = 0; ///< as the entry claims, but no more than a command may have
    abi::prm::DeliveryStatus delivery{};

    abi::prm::Opcode opcode() const;
    abi::prm::Status status() const; ///< of the answer
    bool is_good() const;
};

class CommandReader {
public:
    enum class Part : std::uint8_t { entry, input, output_place, output, answer, hand_over };
    struct Seen {
        Part part;
        Command* command; ///< valid until its slot gets another one
    };

    /// Software has written to BAR 0. A queue address that is written anew is that of a driver that begins: commands
    /// under way are forgotten.
    void register_written(std::uint64_t offset, std::span<const std::byte> bytes);
    /// What the device has read or written at `address`; nothing: no part of a command.
    std::optional<Seen> memory_read(std::uint64_t address, std::span<const std::byte> bytes, std::int64_t time_ps) {
        if (is_entry(address))
            return entry_read(address, bytes, time_ps);
        return is_near_mailbox(address) ? mailbox_read(address, bytes) : std::nullopt;
    }
    std::optional<Seen> memory_written(std::uint64_t address, std::span<const std::byte> bytes) {
        if (is_entry(address))
            return entry_written(address, bytes);
        return is_near_mailbox(address) ? mailbox_written(address, bytes) : std::nullopt;
    }
    bool is_entry(std::uint64_t address) const { return base_ != 0 && address - base_ < queue_bytes; }
    /// Whose entry, or whose mailbox of a command under way, that is.
    std::optional<unsigned> slot_of(std::uint64_t address) const {
        if (is_entry(address))
            return slot_at(address);
        return is_near_mailbox(address) ? mailbox_slot(address) : std::nullopt;
    }
    /// The registers of the device are lost, too.
    void reset() { *this = {}; }

private:
    static constexpr unsigned slots = 32; ///< one bit each in the doorbell
    static constexpr std::uint64_t queue_bytes = slots * abi::prm::CommandQueueEntry::size;
    struct Slot {
        bool is_under_way = false;
        Command command;
        std::uint64_t next_in = 0;                      ///< the mailbox of the input to be read next; 0: none
        std::vector<std::uint64_t> in_boxes, out_boxes; ///< of each chain, as far as it is known
    };
    /// Which addresses mailboxes of commands under way may have. Nearly all accesses are elsewhere: two comparisons say
    /// so, and no chain is searched.
    struct Bounds {
        std::uint64_t first = std::numeric_limits<std::uint64_t>::max(), last = 0;
    };

    bool is_near_mailbox(std::uint64_t address) const { return address >= bounds_.first && address <= bounds_.last; }
    unsigned slot_at(std::uint64_t address) const {
        return static_cast<unsigned>((address - base_) / abi::prm::CommandQueueEntry::size);
    }
    std::optional<unsigned> mailbox_slot(std::uint64_t address) const;
    std::optional<Seen> entry_read(std::uint64_t address, std::span<const std::byte> bytes, std::int64_t time_ps);
    std::optional<Seen> mailbox_read(std::uint64_t address, std::span<const std::byte> bytes);
    std::optional<Seen> entry_written(std::uint64_t address, std::span<const std::byte> bytes);
    std::optional<Seen> mailbox_written(std::uint64_t address, std::span<const std::byte> bytes);
    void add(std::vector<std::uint64_t>& boxes, std::uint64_t address);
    void end(Slot& slot);
    void forget();

    std::array<std::byte, 8> address_register_{};
    std::uint64_t base_ = 0; ///< 0: not told
    std::array<Slot, slots> slots_;
    unsigned under_way_ = 0;
    Bounds bounds_;
};

} // namespace traces::commands

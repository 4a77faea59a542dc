#include "traces/monitor/command_watch.h"

#include "abi/prm/init_segment.h"

#include <algorithm>

namespace traces::monitor {

using namespace abi::prm;
using abi::ConstView;

namespace {

constexpr std::size_t inline_bytes = CommandIn::size;
constexpr std::size_t output_offset = CommandQueueEntry::field<"output">::offset;
constexpr std::size_t control_offset = mailbox_data_bytes; ///< of a mailbox: what stands behind its data
/// An input of more is no command of any driver; a trace may claim anything.
constexpr std::size_t most_input = 16 << 20;

} // namespace

void CommandWatch::register_written(std::uint64_t offset, std::span<const std::byte> bytes) {
    constexpr std::uint64_t begin = InitialSegment::field<"cmdq_phy_addr_63_32">::offset;
    const auto size = address_register_.size();
    // Where a write ends is not computed: of a damaged trace that may lie behind the last address, and look small.
    if (offset < begin || bytes.size() > size || offset - begin > size - bytes.size())
        return;
    std::ranges::copy(bytes, address_register_.begin() + static_cast<std::ptrdiff_t>(offset - begin));
    const auto value = abi::load<std::uint64_t, abi::Endian::big>(address_register_.data());
    base_ = value & ~std::uint64_t{0xfff};
    commands_.clear();
}

std::optional<unsigned> CommandWatch::slot_at(std::uint64_t address) const {
    if (base_ == 0 || address < base_ || address >= base_ + slots * CommandQueueEntry::size)
        return std::nullopt;
    return static_cast<unsigned>((address - base_) / CommandQueueEntry::size);
}

std::optional<unsigned> CommandWatch::slot_of(std::uint64_t address) const {
    if (const auto slot = slot_at(address))
        return slot;
    const auto holds = [address](std::uint64_t box) { return address >= box && address < box + CommandMailbox::size; };
    const auto found = std::ranges::find_if(commands_, [&](const auto& entry) {
        return std::ranges::any_of(entry.second.in_boxes, holds) || std::ranges::any_of(entry.second.out_boxes, holds);
    });
    return found == commands_.end() ? std::nullopt : std::optional(found->first);
}

void CommandWatch::entry_read(unsigned slot, std::span<const std::byte> bytes) {
    const ConstView<CommandQueueEntry> entry(bytes);
    if (entry.get<"owner">() == 0)
        return;
    const auto input = entry.get<"input">();
    Command command;
    command.in.assign(input.begin(), input.end());
    command.in_length = std::min<std::size_t>(entry.get<"input_length">(), most_input);
    command.out_length = std::min<std::size_t>(entry.get<"output_length">(), most_input);
    command.next_in = command.in_length > inline_bytes ? entry.get<"input_mailbox">() : 0;
    command.out.resize(inline_bytes);
    if (command.next_in != 0)
        command.in_boxes.push_back(command.next_in);
    if (command.out_length > inline_bytes && entry.get<"output_mailbox">() != 0)
        command.out_boxes.push_back(entry.get<"output_mailbox">());
    commands_[slot] = std::move(command);
}

void CommandWatch::memory_read(std::uint64_t address, std::span<const std::byte> bytes) {
    if (const auto slot = slot_at(address)) {
        if (bytes.size() >= CommandQueueEntry::size && (address - base_) % CommandQueueEntry::size == 0)
            entry_read(*slot, bytes);
        return;
    }
    for (auto& [slot, command] : commands_) {
        if (command.next_in != 0 && address == command.next_in && bytes.size() >= CommandMailbox::size) {
            const ConstView<CommandMailbox> box(bytes);
            const auto data = box.get<"data">();
            const auto count = std::min(command.in_length - command.in.size(), data.size());
            command.in.insert(command.in.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(count));
            command.next_in = command.in.size() < command.in_length ? box.get<"next">() : 0;
            if (command.next_in != 0)
                command.in_boxes.push_back(command.next_in);
            return;
        }
        // Of an output only the control part is read, before the answer is written.
        if (!command.out_boxes.empty() && address == command.out_boxes.back() + control_offset &&
            bytes.size() >= CommandMailbox::size - control_offset) {
            const auto at = CommandMailbox::field<"next">::offset - control_offset;
            const auto next = abi::load<std::uint64_t, abi::Endian::big>(bytes.data() + at);
            if (next != 0 && command.out_boxes.size() * mailbox_data_bytes < command.out_length - inline_bytes)
                command.out_boxes.push_back(next);
            return;
        }
    }
}

std::optional<CommandWatch::Done> CommandWatch::memory_written(std::uint64_t address,
                                                               std::span<const std::byte> bytes) {
    const auto slot = slot_at(address);
    if (!slot) {
        for (auto& [number, command] : commands_)
            for (std::size_t i = 0; i < command.out_boxes.size(); ++i)
                if (address == command.out_boxes[i] && bytes.size() <= mailbox_data_bytes) {
                    const auto begin = inline_bytes + i * mailbox_data_bytes;
                    command.out.resize(std::max(command.out.size(), begin + bytes.size()));
                    std::ranges::copy(bytes, command.out.begin() + static_cast<std::ptrdiff_t>(begin));
                    return std::nullopt;
                }
        return std::nullopt;
    }
    const auto found = commands_.find(*slot);
    if (found == commands_.end())
        return std::nullopt;
    auto& command = found->second;
    const auto offset = (address - base_) % CommandQueueEntry::size;
    if (offset == output_offset && bytes.size() >= inline_bytes)
        std::ranges::copy(bytes.first(inline_bytes), command.out.begin());
    if (offset > status_own_offset || offset + bytes.size() <= status_own_offset)
        return std::nullopt;
    const auto last = std::to_integer<unsigned>(bytes[status_own_offset - offset]);
    if ((last & 1) != 0)
        return std::nullopt;
    Done done{.opcode = {}, .in = std::move(command.in), .out = std::move(command.out)};
    commands_.erase(found);
    if (last != 0 || ConstView<CommandOut>(std::span<const std::byte>(done.out)).get<"status">() != Status::ok)
        return std::nullopt;
    done.opcode = ConstView<CommandIn>(std::span<const std::byte>(done.in)).get<"opcode">();
    return done;
}

} // namespace traces::monitor

#include "traces/commands/command_reader.h"

#include "abi/prm/init_segment.h"

#include <algorithm>

namespace traces::commands {

using namespace abi::prm;
using abi::ConstView;
using Entry = CommandQueueEntry;

namespace {

constexpr std::size_t inline_bytes = CommandIn::size;
constexpr std::size_t output_offset = Entry::field<"output">::offset;
constexpr std::size_t control_offset = mailbox_data_bytes; ///< of a mailbox: what stands behind its data
/// More is no command of any driver. The longest input is CREATE_MKEY with 2^21 translation entries, the longest output
/// QUERY_MKEY with 2^16 KLMs; structures stand before these lists.
constexpr std::size_t most_structure = 4096;
constexpr std::size_t most_input = (std::size_t{8} << 21) + most_structure;
constexpr std::size_t most_output = (std::size_t{16} << 16) + most_structure;

} // namespace

Opcode Command::opcode() const {
    return in.size() >= CommandIn::size ? ConstView<CommandIn>(in).get<"opcode">() : Opcode{};
}
Status Command::status() const {
    return out.size() >= CommandOut::size ? ConstView<CommandOut>(out).get<"status">() : Status{};
}
bool Command::is_good() const {
    return delivery == DeliveryStatus::ok && out.size() >= CommandOut::size && status() == Status::ok;
}

void CommandReader::register_written(std::uint64_t offset, std::span<const std::byte> bytes) {
    constexpr std::uint64_t begin = InitialSegment::field<"cmdq_phy_addr_63_32">::offset;
    const auto size = address_register_.size();
    // Where a write ends is not computed: of a damaged trace that may lie behind the last address, and look small.
    const auto before = offset < begin ? begin - offset : 0;
    const auto into = offset < begin ? 0 : offset - begin;
    if (before >= bytes.size() || into >= size)
        return;
    const auto part = bytes.subspan(before).first(std::min<std::uint64_t>(bytes.size() - before, size - into));
    std::ranges::copy(part, address_register_.begin() + static_cast<std::ptrdiff_t>(into));
    base_ = abi::load<std::uint64_t, abi::Endian::big>(address_register_.data()) & ~std::uint64_t{0xfff};
    forget();
}

std::optional<unsigned> CommandReader::mailbox_slot(std::uint64_t address) const {
    // A mailbox may be said to end behind the last address: what is compared is the distance to its beginning.
    const auto holds = [address](std::uint64_t box) { return address - box < CommandMailbox::size; };
    const auto found = std::ranges::find_if(slots_, [&](const Slot& slot) {
        return slot.is_under_way &&
               (std::ranges::any_of(slot.in_boxes, holds) || std::ranges::any_of(slot.out_boxes, holds));
    });
    return found == slots_.end() ? std::nullopt : std::optional(found->command.slot);
}

std::optional<CommandReader::Seen> CommandReader::entry_read(std::uint64_t address, std::span<const std::byte> bytes,
                                                             std::int64_t time_ps) {
    if (bytes.size() < Entry::size || (address - base_) % Entry::size != 0)
        return std::nullopt;
    const ConstView<Entry> entry(bytes);
    // Of an entry that is software's the rest may be anything, and the device does not execute it.
    if (entry.get<"owner">() == 0)
        return std::nullopt;
    const auto number = slot_at(address);
    auto& slot = slots_[number];
    end(slot);
    slot = {};
    slot.is_under_way = true;
    ++under_way_;
    const auto input = entry.get<"input">();
    slot.command = {.slot = number,
                    .began_ps = time_ps,
                    .in = {input.begin(), input.end()},
                    .out = std::vector<std::byte>(inline_bytes),
                    .in_length = std::min<std::size_t>(entry.get<"input_length">(), most_input),
                    .out_length = std::min<std::size_t>(entry.get<"output_length">(), most_output)};
    // Where the entry has room for all, its pointers mean nothing.
    if (slot.command.in_length > inline_bytes) {
        slot.next_in = entry.get<"input_mailbox">();
        add(slot.in_boxes, slot.next_in);
    }
    if (slot.command.out_length > inline_bytes)
        add(slot.out_boxes, entry.get<"output_mailbox">());
    return Seen{Part::entry, &slot.command};
}

std::optional<CommandReader::Seen> CommandReader::mailbox_read(std::uint64_t address,
                                                               std::span<const std::byte> bytes) {
    for (auto& slot : slots_) {
        if (!slot.is_under_way)
            continue;
        auto& command = slot.command;
        if (slot.next_in != 0 && address == slot.next_in && bytes.size() >= CommandMailbox::size) {
            const ConstView<CommandMailbox> box(bytes);
            const auto data = box.get<"data">();
            const auto count = std::min(command.in_length - command.in.size(), data.size());
            command.in.insert(command.in.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(count));
            // A chain may be a ring: the length says where it ends.
            slot.next_in = command.in.size() < command.in_length ? box.get<"next">() : 0;
            add(slot.in_boxes, slot.next_in);
            return Seen{Part::input, &command};
        }
        // Of an output only the control part is read, before the answer is written.
        if (!slot.out_boxes.empty() && address == slot.out_boxes.back() + control_offset &&
            bytes.size() >= CommandMailbox::size - control_offset) {
            constexpr auto at = CommandMailbox::field<"next">::offset - control_offset;
            // The entry holds the first bytes of the answer: the chain has none for them.
            if (slot.out_boxes.size() * mailbox_data_bytes < command.out_length - inline_bytes)
                add(slot.out_boxes, abi::load<std::uint64_t, abi::Endian::big>(bytes.data() + at));
            return Seen{Part::output_place, &command};
        }
    }
    return std::nullopt;
}

std::optional<CommandReader::Seen> CommandReader::entry_written(std::uint64_t address,
                                                                std::span<const std::byte> bytes) {
    auto& slot = slots_[slot_at(address)];
    if (!slot.is_under_way || bytes.empty())
        return std::nullopt;
    auto& command = slot.command;
    const auto offset = static_cast<std::size_t>((address - base_) % Entry::size);
    // A write may have any part of the answer, and the byte that hands the entry back with it.
    const auto from = std::max(offset, output_offset);
    const auto to = std::min(offset + bytes.size(), output_offset + inline_bytes);
    if (from < to)
        std::ranges::copy(bytes.subspan(from - offset, to - from),
                          command.out.begin() + static_cast<std::ptrdiff_t>(from - output_offset));
    if (offset + bytes.size() <= status_own_offset)
        return Seen{Part::answer, &command};
    const auto last = std::to_integer<unsigned>(bytes[status_own_offset - offset]);
    if ((last & 1) != 0) // the entry is the device's still, and so what else this byte says is not said yet
        return Seen{Part::answer, &command};
    command.delivery = static_cast<DeliveryStatus>(last >> Entry::field<"delivery_status">::low);
    end(slot);
    return Seen{Part::hand_over, &command};
}

std::optional<CommandReader::Seen> CommandReader::mailbox_written(std::uint64_t address,
                                                                  std::span<const std::byte> bytes) {
    if (bytes.empty())
        return std::nullopt;
    for (auto& slot : slots_) {
        if (!slot.is_under_way)
            continue;
        const auto box = std::ranges::find_if(
            slot.out_boxes, [address](std::uint64_t begin) { return address - begin < mailbox_data_bytes; });
        if (box == slot.out_boxes.end())
            continue;
        auto& command = slot.command;
        const auto in_box = static_cast<std::size_t>(address - *box);
        const auto number = static_cast<std::size_t>(box - slot.out_boxes.begin());
        const auto begin = inline_bytes + number * mailbox_data_bytes + in_box;
        // What is written behind the end of a mailbox's data, or of the answer, is no part of the answer.
        const auto room =
            std::min(mailbox_data_bytes - in_box, command.out_length - std::min(begin, command.out_length));
        const auto part = bytes.first(std::min(bytes.size(), room));
        if (!part.empty()) {
            command.out.resize(std::max(command.out.size(), begin + part.size()));
            std::ranges::copy(part, command.out.begin() + static_cast<std::ptrdiff_t>(begin));
        }
        return Seen{Part::output, &command};
    }
    return std::nullopt;
}

void CommandReader::add(std::vector<std::uint64_t>& boxes, std::uint64_t address) {
    if (address == 0) // the end of a chain
        return;
    boxes.push_back(address);
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    bounds_.first = std::min(bounds_.first, address);
    bounds_.last = std::max(bounds_.last, address + std::min<std::uint64_t>(CommandMailbox::size - 1, most - address));
}

void CommandReader::end(Slot& slot) {
    if (!slot.is_under_way)
        return;
    slot.is_under_way = false;
    if (--under_way_ == 0)
        bounds_ = {};
}

void CommandReader::forget() {
    slots_ = {};
    under_way_ = 0;
    bounds_ = {};
}

} // namespace traces::commands

#include "traces/tool/commands.h"

#include <algorithm>

namespace traces::tool {

using namespace abi::prm;

namespace {

constexpr std::size_t inline_bytes = 16;
/// The longest chain that is followed. The longest command (MANAGE_PAGES) is shorter than that.
constexpr std::size_t most_command_bytes = 1 << 20;
using Entry = CommandQueueEntry;
constexpr std::size_t output_offset = Entry::field<"output">::offset;

} // namespace

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

Opcode Command::opcode() const {
    return in.size() >= CommandIn::size ? abi::ConstView<CommandIn>(in).get<"opcode">() : Opcode{};
}
Status Command::status() const {
    return out.size() >= CommandOut::size ? abi::ConstView<CommandOut>(out).get<"status">() : Status{};
}
bool Command::is_good() const {
    return delivery == DeliveryStatus::ok && out.size() >= CommandOut::size && status() == Status::ok;
}
std::optional<std::uint64_t> Command::input(std::string_view row) const {
    const auto layouts = layouts_of(opcode());
    return layouts.in != nullptr ? find_row(*layouts.in, in, row) : std::nullopt;
}
std::optional<std::uint64_t> Command::output(std::string_view row) const {
    const auto layouts = layouts_of(opcode());
    return layouts.out != nullptr ? find_row(*layouts.out, out, row) : std::nullopt;
}

std::optional<Commands::Seen> Commands::read(std::uint64_t address, std::span<const std::byte> bytes,
                                             std::int64_t time_ps) {
    if (address_ != 0 && address >= address_ && address < address_ + slots * Entry::size &&
        bytes.size() >= Entry::size && (address - address_) % Entry::size == 0) {
        const auto number = static_cast<unsigned>((address - address_) / Entry::size);
        auto& slot = slots_[number];
        const abi::ConstView<Entry> entry(bytes);
        slot = {};
        slot.is_used = true;
        const auto input = bytes.subspan(Entry::field<"input">::offset, inline_bytes);
        slot.command = {.slot = number,
                        .began_ps = time_ps,
                        .in = {input.begin(), input.end()},
                        .out = std::vector<std::byte>(inline_bytes),
                        .in_length = std::min<std::size_t>(entry.get<"input_length">(), most_command_bytes),
                        .out_length = std::min<std::size_t>(entry.get<"output_length">(), most_command_bytes)};
        slot.next_in = entry.get<"input_mailbox">();
        slot.next_out = entry.get<"output_mailbox">();
        return Seen{Part::entry, &slot.command};
    }
    constexpr auto next_at = CommandMailbox::field<"next">::offset;
    for (auto& slot : slots_) {
        if (!slot.is_used)
            continue;
        auto& in = slot.command.in;
        if (slot.next_in != 0 && address == slot.next_in && in.size() < slot.command.in_length &&
            bytes.size() >= CommandMailbox::size) {
            const auto count = std::min(slot.command.in_length - in.size(), mailbox_data_bytes);
            in.insert(in.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
            slot.next_in = abi::ConstView<CommandMailbox>(bytes).get<"next">();
            return Seen{Part::input, &slot.command};
        }
        // Of an output's block only what stands behind the data is read.
        if (slot.next_out != 0 && address == slot.next_out + mailbox_data_bytes &&
            slot.out_blocks.size() * mailbox_data_bytes < slot.command.out_length &&
            bytes.size() >= CommandMailbox::size - mailbox_data_bytes) {
            slot.out_blocks.push_back(slot.next_out);
            slot.next_out = abi::load<std::uint64_t, abi::Endian::big>(bytes.data() + (next_at - mailbox_data_bytes));
            return Seen{Part::output_place, &slot.command};
        }
    }
    return std::nullopt;
}

std::optional<Commands::Seen> Commands::written(std::uint64_t address, std::span<const std::byte> bytes) {
    if (address_ != 0 && address >= address_ && address < address_ + slots * Entry::size) {
        auto& slot = slots_[(address - address_) / Entry::size];
        const auto offset = (address - address_) % Entry::size;
        if (!slot.is_used || bytes.empty())
            return std::nullopt;
        if (offset <= output_offset && offset + bytes.size() >= output_offset + inline_bytes)
            std::ranges::copy(bytes.subspan(output_offset - offset, inline_bytes), slot.command.out.begin());
        if (offset + bytes.size() <= status_own_offset)
            return Seen{Part::answer, &slot.command};
        const auto last = std::to_integer<unsigned>(bytes[status_own_offset - offset]);
        slot.command.delivery = static_cast<DeliveryStatus>(last >> Entry::field<"delivery_status">::low);
        slot.is_used = false;
        return Seen{Part::hand_over, &slot.command};
    }
    for (auto& slot : slots_) {
        if (!slot.is_used)
            continue;
        const auto block = std::ranges::find(slot.out_blocks, address);
        if (block == slot.out_blocks.end())
            continue;
        const auto at = inline_bytes + static_cast<std::size_t>(block - slot.out_blocks.begin()) * mailbox_data_bytes;
        const auto part = bytes.first(std::min(bytes.size(), mailbox_data_bytes));
        auto& out = slot.command.out;
        out.resize(std::max(out.size(), at + part.size()));
        std::ranges::copy(part, out.begin() + static_cast<std::ptrdiff_t>(at));
        return Seen{Part::output, &slot.command};
    }
    return std::nullopt;
}

} // namespace traces::tool

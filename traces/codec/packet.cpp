#include "traces/codec/packet.h"

#include "traces/codec/blocks.h"
#include "traces/codec/layouts.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace traces::codec {

using namespace abi;

namespace {

using Outcome = std::expected<void, Refusal>;

std::unexpected<Refusal> refuse(FaultKind kind, std::string reason) {
    return std::unexpected(Refusal{.kind = kind, .reason = std::move(reason)});
}
std::unexpected<Refusal> corrupt(std::string reason) { return refuse(FaultKind::corrupt, std::move(reason)); }

Outcome read_mark(InterfaceKind interface, std::span<const std::byte> bytes, Record& record) {
    const ConstView<RecordMark> view(bytes);
    if (view.get<"version">() != format_version)
        return refuse(
            view.get<"version">() > format_version ? FaultKind::newer : FaultKind::corrupt,
            fmt::format("a record of format {}; this program reads {}", view.get<"version">(), format_version));
    const auto kind = view.get<"kind">(), direction = view.get<"direction">(), flags = view.get<"flags">();
    if (kind < static_cast<std::uint8_t>(RecordKind::request) || kind > static_cast<std::uint8_t>(RecordKind::event) ||
        direction > static_cast<std::uint8_t>(Direction::outbound) ||
        (flags & ~(by_reference | poisoned | injected)) != 0)
        return corrupt(fmt::format("a record of kind {}, direction {}, flags {:#x}", kind, direction, flags));
    if (view.get<"cause">() >= record.number)
        return corrupt(fmt::format("record {} is caused by record {}, which is not before it", record.number,
                                   view.get<"cause">()));
    record.mark = {.kind = static_cast<RecordKind>(kind),
                   .direction = static_cast<Direction>(direction),
                   .flags = flags,
                   .gate = view.get<"gate">(),
                   .cause = view.get<"cause">()};
    if (!fits(interface, record.mark.kind))
        return corrupt(
            fmt::format("a record of kind {} does not belong on an interface of its kind ({})", kind, name(interface)));
    return {};
}

/// The piece of an entry that a reference names.
std::expected<std::span<const std::byte>, Refusal> follow(ConstView<PayloadReference> reference,
                                                          const Dictionary& dictionary) {
    const auto entry = dictionary.find(reference.get<"digest">());
    const std::size_t offset = reference.get<"offset">(), length = reference.get<"length">();
    if (!entry)
        return corrupt("a record refers to a payload that the dictionary does not have");
    if (length <= PayloadReference::size || offset > entry->size() || length > entry->size() - offset)
        return corrupt(
            fmt::format("a record refers to {} bytes from {} on of a payload of {}", length, offset, entry->size()));
    return entry->subspan(offset, length);
}

Outcome read_tlp(std::span<const std::byte> data, std::size_t original, const Dictionary& dictionary, Record& record) {
    const bool is_elsewhere = (record.mark.flags & by_reference) != 0;
    if (is_elsewhere && data.size() < PayloadReference::size)
        return corrupt("a reference to a payload is too short");
    const auto own = is_elsewhere ? data.first(data.size() - PayloadReference::size) : data;
    const auto head = tlp_head_bytes(own);
    if (!head)
        return corrupt(fmt::format("{} bytes are no header of a TLP", own.size()));
    record.head = own.first(*head);
    record.payload = own.subspan(*head);
    if (is_elsewhere) {
        const auto piece = follow(ConstView<PayloadReference>(data.subspan(own.size())), dictionary);
        if (!piece)
            return std::unexpected(piece.error());
        if (!record.payload.empty())
            return corrupt("a TLP whose payload stands in it and elsewhere");
        record.payload = *piece;
    }
    const auto announced = tlp_payload_bytes(record.head);
    if (record.payload.size() != announced || original != *head + announced)
        return corrupt(fmt::format("a TLP that announces {} bytes of data has {}", announced, record.payload.size()));
    return {};
}

/// What the block holds of a frame: its bytes behind any ERF header, how many the whole has, and the options.
struct FrameBlock {
    std::span<const std::byte> data;
    std::size_t original;
    std::span<const std::byte> options;
};

Outcome read_frame(InterfaceKind kind, FrameBlock block, const Dictionary& dictionary, Record& record,
                   std::vector<std::byte>& frame) {
    auto& [data, original, options] = block;
    if (kind == InterfaceKind::infiniband) {
        if (data.size() < ErfHeader::size)
            return corrupt("an InfiniBand record is too short");
        const ConstView<ErfHeader> erf(data);
        if (erf.get<"type">() != erf_infiniband || erf.get<"record_length">() != data.size())
            return corrupt("an InfiniBand record of another type or length than its header says");
        if (original < ErfHeader::size || erf.get<"wire_length">() != original - ErfHeader::size)
            return corrupt("an InfiniBand record of another length than its header says");
        data = data.subspan(ErfHeader::size);
        original -= ErfHeader::size;
    }
    record.head = data;
    std::span<const std::byte> elsewhere;
    OptionReader reader(options);
    bool has_mark = false, has_elsewhere = false;
    std::uint32_t flags = 0;
    while (const auto option = reader.next()) {
        if (option->code == pcapng::option_epb_flags && option->value.size() == 4)
            flags = load<std::uint32_t, Endian::little>(option->value.data());
        if (option->code != pcapng::uncopied_custom_option || option->value.size() < MarkOption::size)
            continue;
        const ConstView<MarkOption> mark(option->value);
        if (mark.get<"enterprise">() != enterprise_number)
            continue;
        auto& is_there = option->value.size() == MarkOption::size ? has_mark : has_elsewhere;
        if (std::exchange(is_there, true))
            return corrupt("a frame with two marks, or with two parts elsewhere");
        if (option->value.size() != MarkOption::size) {
            elsewhere = option->value;
            continue;
        }
        if (const auto done = read_mark(kind, mark.sub<"mark">().bytes(), record); !done)
            return done;
    }
    if (reader.is_broken() || !has_mark)
        return corrupt("a frame without its mark, or with options that are none");
    if ((flags & 3) != static_cast<std::uint32_t>(record.mark.direction))
        return corrupt("a frame whose mark and flags differ");
    if ((record.mark.flags & by_reference) == 0 && has_elsewhere)
        return corrupt("a frame of which a part is elsewhere, and whose mark does not say so");
    if ((record.mark.flags & by_reference) == 0)
        return data.size() == original ? Outcome{} : corrupt("a frame of which a part is missing");
    if (elsewhere.size() < FrameReferenceOption::size ||
        elsewhere.size() > FrameReferenceOption::size + most_frame_tail_bytes)
        return corrupt("a frame whose mark says that a part of it is elsewhere, and no option where");
    const auto piece = follow(ConstView<FrameReferenceOption>(elsewhere).sub<"reference">(), dictionary);
    if (!piece)
        return std::unexpected(piece.error());
    const auto tail = elsewhere.subspan(FrameReferenceOption::size);
    if (original > most_record_bytes || data.size() + piece->size() + tail.size() != original)
        return corrupt(fmt::format("a frame of {} bytes that has {}, {} and {}", original, data.size(), piece->size(),
                                   tail.size()));
    frame.assign(data.begin(), data.end());
    frame.insert(frame.end(), piece->begin(), piece->end());
    frame.insert(frame.end(), tail.begin(), tail.end());
    record.head = frame;
    return {};
}

} // namespace

bool fits(InterfaceKind interface, RecordKind record) {
    switch (interface) {
    case InterfaceKind::pcie: return record >= RecordKind::request && record <= RecordKind::signal;
    case InterfaceKind::events: return record == RecordKind::event;
    default: return record == RecordKind::frame;
    }
}

Outcome read_packet(std::span<const std::byte> content, std::span<const Interface> interfaces,
                    const Dictionary& dictionary, Record& record, std::vector<std::byte>& frame) {
    if (content.size() < pcapng::EnhancedPacket::size)
        return corrupt("a packet block is too short");
    const ConstView<pcapng::EnhancedPacket> view(content);
    const std::size_t captured = view.get<"captured_length">(), original = view.get<"original_length">();
    const auto interface = view.get<"interface">();
    if (interface >= interfaces.size())
        return corrupt(fmt::format("a record of interface {}, of {}", interface, interfaces.size()));
    const auto rest = content.subspan(pcapng::EnhancedPacket::size);
    if (captured > rest.size() || captured > most_record_bytes || original < captured)
        return corrupt(fmt::format("a record of {} bytes, {} of them here, in a block that holds {}", original,
                                   captured, rest.size()));
    const auto time = std::uint64_t{view.get<"time_high">()} << 32 | view.get<"time_low">();
    if (time > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
        return corrupt("a record of a time beyond all simulated times");
    if (record.number > most_records)
        return corrupt(fmt::format("more than {} records", most_records));
    const auto data = rest.first(captured);
    const auto options = rest.subspan(pcapng::padded(captured));
    const auto kind = interfaces[interface].kind;
    record.interface = interface;
    record.time_ps = static_cast<std::int64_t>(time);

    Outcome done;
    if (kind == InterfaceKind::ethernet || kind == InterfaceKind::infiniband) {
        done = read_frame(kind, {data, original, options}, dictionary, record, frame);
    } else {
        if (captured < RecordMark::size)
            return corrupt("a record without its mark");
        done = read_mark(kind, data.first(RecordMark::size), record);
        record.head = data.subspan(RecordMark::size);
        if (done && kind == InterfaceKind::pcie && record.mark.kind != RecordKind::signal)
            done = read_tlp(record.head, original - RecordMark::size, dictionary, record);
        else if (done && (original != captured || (record.mark.flags & by_reference) != 0))
            return corrupt("a record of which a part is missing");
        if (done && record.mark.kind == RecordKind::signal && record.head.size() != SignalRecord::size)
            return corrupt(fmt::format("a signal of {} bytes", record.head.size()));
    }
    return done;
}

} // namespace traces::codec

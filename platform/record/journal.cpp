#include "platform/record/journal.h"

#include "platform/record/accesses.h"
#include "traces/codec/layouts.h"

#include <algorithm>

namespace platform::record {

using namespace traces::codec;
using model::port::DmaStatus;
using model::port::Time;

namespace {

constexpr auto most_payload = most_recorded_payload;
/// Shorter payloads cost more as an entry of the dictionary than they can save.
constexpr std::size_t least_entry = 64;
constexpr std::uint16_t requester = 0; ///< a device does not know its own number

abi::pcie::CompletionStatus completion_status(DmaStatus status) {
    using enum abi::pcie::CompletionStatus;
    switch (status) {
    case DmaStatus::unsupported_request: return unsupported_request;
    case DmaStatus::completer_abort: return completer_abort;
    default: return success;
    }
}

} // namespace

RecordNumber Journal::put(std::uint32_t interface, RecordKind kind, Direction direction, Time at,
                          std::span<const std::byte> head, std::span<const std::byte> payload) {
    return put(interface, {.kind = kind, .direction = direction, .cause = cause()}, at, head, payload);
}

RecordNumber Journal::put(std::uint32_t interface, Mark mark, Time at, std::span<const std::byte> head,
                          std::span<const std::byte> payload) {
    if (interface == not_recorded)
        return 0;
    mark.gate = gate();
    return static_cast<RecordNumber>(
        sink_.put({.interface = interface, .time_ps = at.count(), .mark = mark, .head = head, .payload = payload}));
}

std::list<Journal::Chain>::iterator Journal::enter() {
    const auto* running = running_ != nullptr ? running_() : nullptr;
    auto chain = std::ranges::find(chains_, running, &Chain::running);
    if (chain == chains_.end()) {
        if (idle_.empty())
            idle_.emplace_back();
        chain = idle_.begin();
        chains_.splice(chains_.end(), idle_, chain);
        *chain = {.running = running, .depth = 0, .gate = ++none_.gate, .cause = 0};
    }
    ++chain->depth;
    return chain;
}

void Journal::leave(std::list<Chain>::iterator chain) {
    if (--chain->depth == 0)
        idle_.splice(idle_.end(), chains_, chain);
}

const Journal::Chain& Journal::current() const {
    if (chains_.empty())
        return none_;
    const auto* running = running_ != nullptr ? running_() : nullptr;
    const auto chain = std::ranges::find(chains_, running, &Chain::running);
    return chain != chains_.end() ? *chain : none_;
}

/// TLPs with data: all bytes are hashed once for each entry of the dictionary, not once for each TLP.
template <class Header>
RecordNumber LinkLog::put_data(std::uint64_t address, std::span<const std::byte> bytes, Time at, const Mark& mark,
                               Header&& header) {
    if (interface_ == not_recorded)
        return 0;
    const auto length = bytes.size();
    // As the dwords on the link have them: with zeros where no byte is enabled.
    const auto lead = address & 3;
    if (lead != 0 || length % 4 != 0 || length == 0) {
        padded_.assign(std::max<std::size_t>(4, (lead + length + 3) & ~std::size_t{3}), std::byte{});
        std::ranges::copy(bytes, padded_.begin() + static_cast<std::ptrdiff_t>(lead));
        bytes = padded_;
    }
    const auto begin = address - lead;
    std::size_t entry_begin = 0, entry_end = 0;
    RecordNumber first = 0;
    for_each_piece(address, length, most_payload, [&](Piece piece) {
        const auto at_byte = static_cast<std::size_t>(piece.first_dword() - begin);
        const auto payload = bytes.subspan(at_byte, piece.padded());
        if (at_byte == entry_end) { // pieces after the first begin where 4 KiB do, and an entry ends with a piece
            const auto whole = (most_entry_bytes - most_payload) / most_payload * most_payload + payload.size();
            entry_begin = at_byte;
            entry_end = std::min(bytes.size(), at_byte + whole);
            const auto part = bytes.subspan(entry_begin, entry_end - entry_begin);
            journal_.share(part.size() < least_entry ? std::span<const std::byte>() : part);
        }
        const auto head = header(piece);
        auto now = mark;
        now.kind = first == 0 ? mark.kind : RecordKind::continuation;
        const auto number = journal_.put(interface_, now, at, head.bytes(), payload);
        if (first == 0)
            first = number;
    });
    journal_.share({});
    return first;
}

RecordNumber LinkLog::write(Direction direction, std::uint64_t address, std::span<const std::byte> bytes, Time at,
                            std::uint8_t flags) {
    const Mark mark{.kind = RecordKind::request, .direction = direction, .flags = flags, .cause = journal_.cause()};
    return put_data(address, bytes, at, mark,
                    [&](Piece piece) { return memory_request(true, piece, requester, tag_++); });
}

LinkLog::Asked LinkLog::read(Direction direction, std::uint64_t address, std::size_t length, Time at) {
    Asked asked{.tag = tag_};
    if (interface_ == not_recorded)
        return asked;
    for_each_piece(address, length, most_payload, [&](Piece piece) {
        const auto number = journal_.put(interface_, asked.record == 0 ? RecordKind::request : RecordKind::continuation,
                                         direction, at, memory_request(false, piece, requester, tag_++).bytes());
        if (asked.record == 0)
            asked.record = number;
    });
    return asked;
}

void LinkLog::answer(Direction direction, std::uint64_t address, std::span<const std::byte> bytes,
                     model::port::DmaResult result, Asked asked) {
    using abi::pcie::CompletionStatus;
    const Mark mark{.kind = RecordKind::completion, .direction = direction, .cause = asked.record};
    switch (result.status) {
    case DmaStatus::ok:
        put_data(address, bytes, result.done, mark,
                 [&](Piece piece) { return completion(CompletionStatus::success, piece, requester, asked.tag++); });
        return;
    case DmaStatus::unsupported_request:
    case DmaStatus::completer_abort: {
        const Piece piece{address, static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size(), most_payload))};
        const auto head = completion(completion_status(result.status), piece, requester, asked.tag++);
        journal_.put(interface_, mark, result.done, head.bytes());
        return;
    }
    case DmaStatus::timeout:
        signal(direction, Signal::no_answer, result.done, {.value = static_cast<std::uint64_t>(result.done.count())});
    }
}

RecordNumber LinkLog::signal(Direction direction, Signal signal, Time at, Told told) {
    abi::Block<SignalRecord> record;
    record.view()
        .set<"code">(static_cast<std::uint16_t>(signal))
        .set<"port">(told.port)
        .set<"number">(told.number)
        .set<"value">(told.value);
    return journal_.put(interface_, RecordKind::signal, direction, at, record.bytes);
}

} // namespace platform::record

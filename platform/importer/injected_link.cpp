#include "platform/importer/injected_link.h"

#include "platform/record/accesses.h"
#include "traces/codec/layouts.h"

#include <algorithm>
#include <utility>

namespace platform::importer {

using namespace traces::codec;
using record::for_each_piece;
using record::Piece;

namespace {

constexpr std::uint32_t most_payload = 4096; ///< of one TLP
constexpr std::uint16_t requester = 0;       ///< nobody has told the device's number

} // namespace

std::uint32_t InjectedLink::put(RecordKind kind, Direction direction, std::uint32_t cause,
                                std::span<const std::byte> head, std::span<const std::byte> payload) {
    const Mark mark{.kind = kind, .direction = direction, .flags = injected, .gate = gate_, .cause = cause};
    return static_cast<std::uint32_t>(writer_.write(interface_, 0, mark, head, payload));
}

std::span<const std::byte> InjectedLink::padded(std::uint64_t address, std::span<const std::byte> bytes) {
    const auto lead = address & 3;
    padded_.assign(std::max<std::size_t>(4, (lead + bytes.size() + 3) & ~std::size_t{3}), std::byte{});
    std::ranges::copy(bytes, padded_.begin() + static_cast<std::ptrdiff_t>(lead));
    return padded_;
}

std::uint32_t InjectedLink::write(Direction direction, std::uint64_t address, std::span<const std::byte> bytes) {
    const auto dwords = padded(address, bytes);
    std::uint32_t first = 0;
    for_each_piece(address, bytes.size(), most_payload, [&](Piece piece) {
        const auto at = piece.first_dword() - (address & ~std::uint64_t{3});
        const auto number =
            put(first == 0 ? RecordKind::request : RecordKind::continuation, direction, cause_,
                record::memory_request(true, piece, requester, tag_++).bytes(), dwords.subspan(at, piece.padded()));
        if (first == 0)
            first = number;
    });
    return first;
}

void InjectedLink::store(std::uint64_t address, std::span<const std::byte> bytes) {
    begin_access();
    cause_ = write(Direction::inbound, address, bytes);
}

void InjectedLink::device_writes(std::uint64_t address, std::span<const std::byte> bytes) {
    write(Direction::outbound, address, bytes);
}

void InjectedLink::device_reads(std::uint64_t address, std::span<const std::byte> bytes) {
    std::uint32_t request = 0;
    auto answered_tag = tag_; // a completion has its request's
    for_each_piece(address, bytes.size(), most_payload, [&](Piece piece) {
        const auto number = put(request == 0 ? RecordKind::request : RecordKind::continuation, Direction::outbound,
                                cause_, record::memory_request(false, piece, requester, tag_++).bytes());
        if (request == 0)
            request = number;
    });
    const auto dwords = padded(address, bytes);
    bool is_first = true;
    for_each_piece(address, bytes.size(), most_payload, [&](Piece piece) {
        const auto at = piece.first_dword() - (address & ~std::uint64_t{3});
        const auto head = record::completion(abi::pcie::CompletionStatus::success, piece, requester, answered_tag++);
        put(std::exchange(is_first, false) ? RecordKind::completion : RecordKind::continuation, Direction::inbound,
            request, head.bytes(), dwords.subspan(at, piece.padded()));
    });
}

void InjectedLink::bar_begins(std::uint32_t bar, std::uint64_t address) {
    abi::Block<SignalRecord> signal;
    signal.view().set<"code">(static_cast<std::uint16_t>(Signal::bar_address)).set<"number">(bar).set<"value">(address);
    put(RecordKind::signal, Direction::inbound, 0, signal.bytes);
}

} // namespace platform::importer

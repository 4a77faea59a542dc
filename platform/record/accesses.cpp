#include "platform/record/accesses.h"

#include <bit>

namespace platform::record {

using namespace abi::pcie;
using abi::ConstView;
using abi::View;

namespace {

struct Enables {
    unsigned first, last;
};
Enables enables(Piece piece) {
    if (piece.length == 0)
        return {0, 0};
    const auto lead = piece.lead(), end = lead + piece.length;
    const unsigned first = 0xfu << lead & 0xf;
    if (end <= 4)
        return {first & 0xfu >> (4 - end), 0};
    return {first, 0xfu >> (3 - (end - 1) % 4)};
}

/// The bytes that contiguous enables mean; nothing: they are not contiguous.
std::optional<Piece> piece_of(std::uint64_t address, std::uint32_t dwords, Enables enables) {
    if (dwords == 1) {
        if (enables.last != 0)
            return std::nullopt;
        if (enables.first == 0)
            return Piece{address, 0};
        const auto lead = static_cast<unsigned>(std::countr_zero(enables.first));
        const auto count = static_cast<unsigned>(std::popcount(enables.first));
        if ((enables.first >> lead) + 1 != 1u << count)
            return std::nullopt;
        return Piece{address + lead, count};
    }
    if (enables.first == 0 || enables.last == 0)
        return std::nullopt;
    const auto lead = static_cast<unsigned>(std::countr_zero(enables.first));
    const auto tail = static_cast<unsigned>(std::popcount(enables.last));
    if (enables.first != (0xfu << lead & 0xf) || enables.last != 0xfu >> (4 - tail))
        return std::nullopt;
    return Piece{address + lead, (dwords - 2) * 4 + 4 - lead + tail};
}

/// Bytes of the TLP that begins at `at`, of an access from `begin` to `end` (PCIe 6.0 §2.2.2, §2.3.1.1).
std::uint64_t tlp_bytes(TlpSort sort, std::uint64_t begin, std::uint64_t at, std::uint64_t end,
                        model::pcie::TlpSizes sizes) {
    const auto payload = std::uint64_t{1} << sizes.payload_shift, request = std::uint64_t{1} << sizes.read_shift;
    const auto up_to_boundary = [&](std::uint64_t size) { return std::min(end - at, size - at % size); };
    if (sort == TlpSort::write)
        return up_to_boundary(payload);
    const auto of_request = up_to_boundary(request);
    if (sort == TlpSort::read_request)
        return of_request;
    // The first completion of a request ends at a read completion boundary; the others are as long as they may be.
    const bool is_first = at == begin || at % request == 0;
    return std::min(of_request, is_first ? payload - at % model::pcie::read_completion_boundary : payload);
}

} // namespace

std::optional<OtherTlp> first_other_tlp(TlpSort sort, std::uint64_t address, std::uint64_t length,
                                        const LinkSizes& sizes) {
    for (auto at = address, end = address + length; at < end;) {
        const auto recorded = tlp_bytes(sort, address, at, end, sizes.recorded);
        const auto played = tlp_bytes(sort, address, at, end, sizes.played);
        if (recorded != played)
            return OtherTlp{at, static_cast<std::uint32_t>(recorded), static_cast<std::uint32_t>(played)};
        at += recorded;
    }
    return std::nullopt;
}

Header memory_request(bool is_write, Piece piece, std::uint16_t requester, std::uint8_t tag) {
    Header out;
    const auto address = piece.first_dword();
    const bool is_long = address >> 32 != 0;
    out.length_ = is_long ? MemoryRequest64::size : MemoryRequest32::size;
    const auto format = static_cast<unsigned>(is_write ? TlpFormat::data_3dw : TlpFormat::no_data_3dw) + is_long;
    const auto byte_enables = enables(piece);
    // What both forms have stands at the same place.
    const View<MemoryRequest64> view(out.bytes_);
    view.sub<"header">().set<"fmt">(static_cast<TlpFormat>(format)).set<"length">(piece.padded() / 4 % 1024);
    view.set<"requester">(requester)
        .set<"tag">(tag)
        .set<"first_enables">(byte_enables.first)
        .set<"last_enables">(byte_enables.last);
    if (is_long)
        view.set<"address_upper">(static_cast<std::uint32_t>(address >> 32))
            .set<"address">(static_cast<std::uint32_t>(address) >> 2);
    else
        View<MemoryRequest32>(out.bytes_).set<"address">(static_cast<std::uint32_t>(address) >> 2);
    return out;
}

Header completion(CompletionStatus status, Piece piece, std::uint16_t requester, std::uint8_t tag) {
    Header out;
    out.length_ = Completion::size;
    const bool has_data = status == CompletionStatus::success;
    const View<Completion> view(out.bytes_);
    view.sub<"header">()
        .set<"fmt">(has_data ? TlpFormat::data_3dw : TlpFormat::no_data_3dw)
        .set<"type">(TlpType::completion)
        .set<"length">(has_data ? piece.padded() / 4 % 1024 : 0);
    // §2.2.9: a read of no bytes is answered as one of a byte.
    view.set<"status">(status)
        .set<"byte_count">(std::max(1u, piece.length) % 4096)
        .set<"requester">(requester)
        .set<"tag">(tag)
        .set<"lower_address">(static_cast<std::uint32_t>(piece.address & 0x7f));
    return out;
}

std::optional<MemoryRequest> read_memory_request(std::span<const std::byte> head) {
    if (head.size() < MemoryRequest32::size)
        return std::nullopt;
    const auto header = ConstView<MemoryRequest32>(head).sub<"header">();
    const auto format = static_cast<unsigned>(header.get<"fmt">());
    if (header.get<"type">() != TlpType::memory || format > 3)
        return std::nullopt;
    const bool is_long = (format & 1) != 0;
    if (is_long && head.size() < MemoryRequest64::size)
        return std::nullopt;
    const ConstView<MemoryRequest32> view(head);
    std::uint64_t address = std::uint64_t{view.get<"address">()} << 2;
    if (is_long) {
        const ConstView<MemoryRequest64> wide(head);
        address = std::uint64_t{wide.get<"address_upper">()} << 32 | std::uint64_t{wide.get<"address">()} << 2;
    }
    const auto length = header.get<"length">();
    const auto piece =
        piece_of(address, length == 0 ? 1024 : length, {view.get<"first_enables">(), view.get<"last_enables">()});
    if (!piece)
        return std::nullopt;
    return MemoryRequest{.is_write = (format & 2) != 0, .piece = *piece};
}

std::optional<ReadCompletion> read_completion(std::span<const std::byte> head) {
    if (head.size() < Completion::size)
        return std::nullopt;
    const ConstView<Completion> view(head);
    if (view.sub<"header">().get<"type">() != TlpType::completion)
        return std::nullopt;
    const auto count = view.get<"byte_count">();
    return ReadCompletion{
        .status = view.get<"status">(), .lead = view.get<"lower_address">() & 3, .length = count == 0 ? 4096 : count};
}

} // namespace platform::record

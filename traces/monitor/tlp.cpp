#include "traces/monitor/tlp.h"

#include <algorithm>
#include <bit>

namespace traces::monitor {

using namespace abi::pcie;
using abi::ConstView;

namespace {

/// The header behind the prefixes, whose format has the highest bit (PCIe 6.0 §2.2.1).
std::span<const std::byte> behind_prefixes(std::span<const std::byte> head) {
    while (head.size() >= TlpHeader::size && static_cast<unsigned>(ConstView<TlpHeader>(head).get<"fmt">()) >= 4)
        head = head.subspan(TlpHeader::size);
    return head;
}

} // namespace

std::optional<MemoryTlp> read_memory_tlp(std::span<const std::byte> head) {
    head = behind_prefixes(head);
    if (head.size() < MemoryRequest32::size)
        return std::nullopt;
    const ConstView<MemoryRequest32> view(head);
    const auto header = view.sub<"header">();
    const auto format = static_cast<unsigned>(header.get<"fmt">());
    const bool is_long = (format & 1) != 0;
    if (header.get<"type">() != TlpType::memory || format > 3 || (is_long && head.size() < MemoryRequest64::size))
        return std::nullopt;
    std::uint64_t address = std::uint64_t{view.get<"address">()} << 2;
    if (is_long) {
        const ConstView<MemoryRequest64> wide(head);
        address = std::uint64_t{wide.get<"address_upper">()} << 32 | std::uint64_t{wide.get<"address">()} << 2;
    }
    // PCIe 6.0 §2.2.5: enables say which bytes of the first and the last dword count; none of a single dword, none.
    const auto dwords = header.get<"length">() == 0 ? 1024u : header.get<"length">();
    const auto first = view.get<"first_enables">(), last = dwords == 1 ? first : view.get<"last_enables">();
    MemoryTlp out{.is_write = (format & 2) != 0,
                  .address = address,
                  .length = 0,
                  .requester = view.get<"requester">(),
                  .tag = static_cast<std::uint8_t>(view.get<"tag">())};
    if (first == 0 || last == 0)
        return out;
    const auto lead = static_cast<std::uint32_t>(std::countr_zero(first));
    const auto end = (dwords - 1) * 4 + static_cast<std::uint32_t>(std::bit_width(last));
    out.address += lead;
    out.length = end > lead ? end - lead : 0;
    return out;
}

std::optional<CompletionTlp> read_completion_tlp(std::span<const std::byte> head) {
    head = behind_prefixes(head);
    if (head.size() < Completion::size)
        return std::nullopt;
    const ConstView<Completion> view(head);
    if (view.sub<"header">().get<"type">() != TlpType::completion)
        return std::nullopt;
    return CompletionTlp{.status = view.get<"status">(),
                         .requester = view.get<"requester">(),
                         .tag = static_cast<std::uint8_t>(view.get<"tag">())};
}

std::span<const std::byte> enabled(std::span<const std::byte> payload, std::uint64_t address, std::uint32_t length) {
    const auto lead = std::min<std::size_t>(address & 3, payload.size());
    return payload.subspan(lead, std::min<std::size_t>(length, payload.size() - lead));
}

} // namespace traces::monitor

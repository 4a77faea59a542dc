#include "traces/codec/trace.h"

#include "abi/pcie/tlp.h"

#include <array>

namespace traces::codec {
namespace {

// PCIe 6.0 §2.2.1: values 0 to 3 of Fmt are headers (bit 0: four dwords, bit 1: data follow), 4 is a prefix.
constexpr unsigned prefix_format = 4;
constexpr std::size_t dword = 4, most_prefixes = 4;

unsigned format(std::span<const std::byte> tlp) { return std::to_integer<unsigned>(tlp[0]) >> 5; }

} // namespace

std::string_view name(InterfaceKind kind) {
    constexpr std::array<std::string_view, 4> names{"PCIe link", "Ethernet port", "InfiniBand port", "events"};
    return names[static_cast<std::size_t>(kind)];
}

std::optional<std::size_t> tlp_head_bytes(std::span<const std::byte> tlp) {
    std::size_t prefixes = 0;
    while (prefixes < most_prefixes && tlp.size() > prefixes * dword &&
           format(tlp.subspan(prefixes * dword)) == prefix_format)
        ++prefixes;
    const auto rest = tlp.subspan(prefixes * dword);
    if (rest.empty() || format(rest) >= prefix_format)
        return std::nullopt;
    const auto header = (format(rest) & 1) != 0 ? 4 * dword : 3 * dword;
    if (rest.size() < header)
        return std::nullopt;
    return prefixes * dword + header;
}

std::size_t tlp_payload_bytes(std::span<const std::byte> head) {
    while (format(head) == prefix_format)
        head = head.subspan(dword);
    if ((format(head) & 2) == 0)
        return 0;
    const auto length = abi::ConstView<abi::pcie::TlpHeader>(head).get<"length">();
    return (length == 0 ? 1024 : length) * dword;
}

} // namespace traces::codec

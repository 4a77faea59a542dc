// How many packets a memory access becomes, and their size on the link (PCIe 6.0 §2.2, non-flit mode): writes split at
// MPS, reads at MRRS, completions at MPS and the read completion boundary.
#pragma once

#include "abi/pcie/tlp.h"

#include <bit>
#include <cstdint>

namespace model::pcie {

/// Framing, sequence number and LCRC of a TLP.
inline constexpr std::uint64_t framing_bytes = 8;
inline constexpr std::uint64_t completion_header = abi::pcie::Completion::size;
inline constexpr std::uint64_t read_completion_boundary = 64;

constexpr std::uint64_t request_header(std::uint64_t address) {
    return address >> 32 != 0 ? abi::pcie::MemoryRequest64::size : abi::pcie::MemoryRequest32::size;
}
/// Bytes as whole dwords: what a payload occupies. A zero-length access has one dword of which no byte is enabled
/// (§2.2.5).
constexpr std::uint64_t dword_bytes(std::uint64_t address, std::uint64_t length) {
    return length == 0 ? 4 : ((address & 3) + length + 3) & ~std::uint64_t{3};
}

/// Programmed sizes of a requester, as powers of two.
struct TlpSizes {
    unsigned payload_shift = 7, read_shift = 9;
    bool operator==(const TlpSizes&) const = default;
    static constexpr TlpSizes of(unsigned max_payload, unsigned max_read_request) {
        return {static_cast<unsigned>(std::countr_zero(max_payload)),
                static_cast<unsigned>(std::countr_zero(max_read_request))};
    }
};

/// Blocks of 1 << shift bytes that [address, address + length) touches; one for a zero-length access.
constexpr std::uint64_t blocks(std::uint64_t address, std::uint64_t length, unsigned shift) {
    const auto offset = address & ((std::uint64_t{1} << shift) - 1);
    return length == 0 ? 1 : ((offset + length - 1) >> shift) + 1;
}
constexpr std::uint64_t write_packets(std::uint64_t address, std::uint64_t length, TlpSizes sizes) {
    return blocks(address, length, sizes.payload_shift);
}
constexpr std::uint64_t read_requests(std::uint64_t address, std::uint64_t length, TlpSizes sizes) {
    return blocks(address, length, sizes.read_shift);
}
/// Completions of one request: the first ends at a read completion boundary, the others are MPS long.
constexpr std::uint64_t completions_of_request(std::uint64_t address, std::uint64_t length, TlpSizes sizes) {
    const auto first = (std::uint64_t{1} << sizes.payload_shift) - address % read_completion_boundary;
    return length <= first ? 1 : 1 + ((length - first - 1) >> sizes.payload_shift) + 1;
}
constexpr std::uint64_t completions(std::uint64_t address, std::uint64_t length, TlpSizes sizes) {
    const auto request = std::uint64_t{1} << sizes.read_shift;
    const auto first = request - (address & (request - 1));
    if (length <= first)
        return completions_of_request(address, length, sizes);
    const auto rest = length - first, whole = rest >> sizes.read_shift, tail = rest & (request - 1);
    return completions_of_request(address, first, sizes) + whole * completions_of_request(0, request, sizes) +
           (tail != 0 ? completions_of_request(0, tail, sizes) : 0);
}

} // namespace model::pcie

// The header in front of an InfiniBand packet, without which no stock Wireshark decodes one.
#pragma once

#include "traces/codec/layouts.h"

#include <cstddef>
#include <cstdint>

namespace traces::codec {

inline constexpr std::size_t most_erf_bytes = 0xffff; ///< header and packet: what its length can say

/// length    of the packet on the wire, LRH to VCRC
/// captured  how much of it follows
abi::Block<ErfHeader> erf_header(std::uint64_t time_ps, std::size_t length, std::size_t captured);

} // namespace traces::codec

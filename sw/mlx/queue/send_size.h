// How large the WQEs of a send queue are, and the queue. Whoever plans queues before there is a device asks here, and
// the queue pair itself (PRM "WQE format").
#pragma once

#include "abi/prm/wqe.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sw::mlx {

/// Bytes of the largest send WQE: control, remote address and operands of an atomic, then `elements` data segments; or
/// control, remote address and `inline_bytes` with their header, whichever is longer.
constexpr std::uint64_t send_wqe_bytes(std::uint64_t elements, std::uint64_t inline_bytes) {
    using namespace abi::prm;
    constexpr std::uint64_t head = WqeCtrl::size + WqeRaddr::size;
    const auto padded = inline_bytes != 0 ? (inline_bytes + WqeInline::size + 15) / 16 * 16 : 0;
    return std::max<std::uint64_t>(head + WqeAtomic::size + elements * WqeData::size, head + padded);
}

/// WQEBBs of a send queue for `sends` WQEs of `wqe_bytes` each; a power of two.
constexpr std::uint64_t send_queue_blocks(std::uint64_t sends, std::uint64_t wqe_bytes) {
    using abi::prm::wqe_bb_bytes;
    return std::bit_ceil(sends * ((wqe_bytes + wqe_bb_bytes - 1) / wqe_bb_bytes));
}

} // namespace sw::mlx

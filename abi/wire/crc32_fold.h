// CRC-32 of many bytes at once, by the processor's multiplication without carries (Gopal et al., "Fast CRC Computation
// for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009). A recording has the ICRC of every packet: eight
// bytes a step, by tables, cost more than all else that recording a large message does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace abi::wire::detail {

/// What folding is worth the trouble for.
inline constexpr std::size_t least_folded_bytes = 128;

/// Sixteen bytes that leave a register of zeros as `crc` and `bytes` would: at least 64, in units of 16.
/// To be called where can_fold() says so.
std::array<std::byte, 16> crc32_fold(std::span<const std::byte> bytes, std::uint32_t crc);
/// Whether this processor has the instruction.
bool can_fold();

} // namespace abi::wire::detail

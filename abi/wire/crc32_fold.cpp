#include "abi/wire/crc32_fold.h"

#include <cassert>

#if defined(__x86_64__)
#include <smmintrin.h>
#include <wmmintrin.h>
#endif

namespace abi::wire::detail {

#if defined(__x86_64__)

namespace {

/// x^n modulo the polynomial, as the reflected register has it, moved by the bit that a product of two reflected
/// numbers lacks.
consteval long long power(unsigned n) {
    std::uint32_t value = 0x8000'0000; // x^0
    for (; n != 0; --n)
        value = (value & 1) != 0 ? value >> 1 ^ 0xedb88320 : value >> 1;
    return static_cast<long long>(std::uint64_t{value} << 1);
}

/// Moves 128 bits ahead by the distance that `powers` are of: the low half is the earlier one on the wire.
[[gnu::target("pclmul,sse4.1")]] inline __m128i ahead(__m128i bits, __m128i powers) {
    return _mm_xor_si128(_mm_clmulepi64_si128(bits, powers, 0x00), _mm_clmulepi64_si128(bits, powers, 0x11));
}

[[gnu::target("pclmul,sse4.1")]] inline __m128i load(const std::byte* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

} // namespace

bool can_fold() { return __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0; }

[[gnu::target("pclmul,sse4.1")]] std::array<std::byte, 16> crc32_fold(std::span<const std::byte> bytes,
                                                                      std::uint32_t crc) {
    assert(bytes.size() >= 64 && bytes.size() % 16 == 0);
    const auto by_512 = _mm_set_epi64x(power(512 - 32), power(512 + 32));
    const auto by_128 = _mm_set_epi64x(power(128 - 32), power(128 + 32));
    const auto* p = bytes.data();
    const auto* const end = p + bytes.size();
    __m128i lanes[]{_mm_xor_si128(load(p), _mm_cvtsi32_si128(static_cast<int>(crc))), load(p + 16), load(p + 32),
                    load(p + 48)};
    for (p += 64; end - p >= 64; p += 64)
        for (std::size_t i = 0; i < 4; ++i)
            lanes[i] = _mm_xor_si128(ahead(lanes[i], by_512), load(p + 16 * i));
    auto folded = lanes[0];
    for (std::size_t i = 1; i < 4; ++i)
        folded = _mm_xor_si128(ahead(folded, by_128), lanes[i]);
    for (; p != end; p += 16)
        folded = _mm_xor_si128(ahead(folded, by_128), load(p));
    std::array<std::byte, 16> left{};
    _mm_storeu_si128(reinterpret_cast<__m128i*>(left.data()), folded);
    return left;
}

#else

bool can_fold() { return false; }
std::array<std::byte, 16> crc32_fold(std::span<const std::byte>, std::uint32_t) {
    assert(false && "asked for where can_fold() says no");
    return {};
}

#endif

} // namespace abi::wire::detail

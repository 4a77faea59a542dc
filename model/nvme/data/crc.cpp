#include "model/nvme/data/crc.h"

#include "abi/layout.h"

#include <array>

namespace model::nvme {

namespace {

using abi::Endian;
using abi::load;

/// [k][b]: what byte b contributes when k more bytes follow it.
template <class Word> using Tables = std::array<std::array<Word, 256>, 8>;

/// Of a CRC that takes the highest bit of a byte first.
template <class Word> constexpr Tables<Word> make_forward(Word polynomial) {
    Tables<Word> tables{};
    constexpr unsigned bits = sizeof(Word) * 8;
    for (unsigned b = 0; b < 256; ++b) {
        auto word = static_cast<Word>(static_cast<Word>(b) << (bits - 8));
        for (int i = 0; i < 8; ++i)
            word = static_cast<Word>(word << 1 ^ (word >> (bits - 1) != 0 ? polynomial : 0));
        tables[0][b] = word;
    }
    for (unsigned k = 1; k < 8; ++k)
        for (unsigned b = 0; b < 256; ++b)
            tables[k][b] = static_cast<Word>(tables[k - 1][b] << 8 ^ tables[0][tables[k - 1][b] >> (bits - 8)]);
    return tables;
}

/// Of a CRC that takes the lowest bit first; the polynomial is reflected.
template <class Word> constexpr Tables<Word> make_reflected(Word polynomial) {
    Tables<Word> tables{};
    for (unsigned b = 0; b < 256; ++b) {
        Word word = b;
        for (int i = 0; i < 8; ++i)
            word = word >> 1 ^ ((word & 1) != 0 ? polynomial : 0);
        tables[0][b] = word;
    }
    for (unsigned k = 1; k < 8; ++k)
        for (unsigned b = 0; b < 256; ++b)
            tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 0xff];
    return tables;
}

constexpr auto t10 = make_forward<std::uint16_t>(0x8bb7);
constexpr auto castagnoli = make_reflected<std::uint32_t>(0x82f63b78);
constexpr auto rocksoft = make_reflected<std::uint64_t>(0x9a6c9329ac4bc9b5);

template <class Word> Word reflected(const Tables<Word>& tables, std::span<const std::byte> bytes, Word crc) {
    crc = ~crc;
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
        const auto word = load<std::uint64_t, Endian::little>(bytes.data()) ^ crc;
        crc = 0;
        for (unsigned i = 0; i < 8; ++i)
            crc ^= tables[7 - i][word >> 8 * i & 0xff];
    }
    for (const auto byte : bytes)
        crc = crc >> 8 ^ tables[0][(crc ^ std::to_integer<Word>(byte)) & 0xff];
    return ~crc;
}

} // namespace

std::uint16_t crc16_t10(std::span<const std::byte> bytes, std::uint16_t crc) {
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
        const auto word = load<std::uint64_t, Endian::big>(bytes.data()) ^ std::uint64_t{crc} << 48;
        crc = 0;
        for (unsigned i = 0; i < 8; ++i)
            crc ^= t10[i][word >> 8 * i & 0xff];
    }
    for (const auto byte : bytes)
        crc = static_cast<std::uint16_t>(crc << 8 ^ t10[0][crc >> 8 ^ std::to_integer<unsigned>(byte)]);
    return crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) { return reflected(castagnoli, bytes, crc); }

std::uint64_t crc64_nvme(std::span<const std::byte> bytes, std::uint64_t crc) {
    return reflected(rocksoft, bytes, crc);
}

} // namespace model::nvme

// Why a trace cannot be read, or not on, in the words of somebody who wants to find the place.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace traces::codec {

enum class FaultKind : std::uint8_t {
    unreadable, ///< the file system does not give the bytes
    foreign,    ///< a file of somebody else's
    newer,      ///< a trace, of a format that came after this program
    truncated,  ///< ends too early: what was read before is good
    corrupt,    ///< says something that no writer of this format writes
    excessive,  ///< wants more memory, or grows more, than any trace needs
};
std::string_view name(FaultKind kind);

struct Fault {
    FaultKind kind;
    /// In the file; where that is compressed, of the beginning of the frame.
    std::uint64_t file_offset = 0;
    std::uint64_t offset = 0; ///< decompressed
    std::uint64_t block = 0;  ///< number of the block, from 1; 0: not within any
    std::string reason;

    /// "truncated: the file ends inside of a block ... (block 17; byte 4711 of the file, byte 20480 decompressed)"
    std::string text() const;
};

template <class T> using Read = std::expected<T, Fault>;

} // namespace traces::codec

// What memory holds in a race: each byte tells what lies there, what comes and what the next owner has apart, and where
// it belongs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scenario::race {

inline constexpr unsigned before = 1, sent = 2, after = 3;

constexpr std::byte content(unsigned kind, std::uint64_t i) {
    return static_cast<std::byte>((i * 13 + i / 4096) % 64 * 4 + kind);
}

} // namespace scenario::race

// The bytes of a message: words that follow from its content number and their place, so that bytes of another message,
// or of another place of it, are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace load {

/// `from` of content `number` on: bytes [from, from + into.size()).
void fill(std::span<std::byte> into, std::uint64_t number, std::uint64_t from = 0);
/// The first byte that is not of content `number`; nothing: all are.
std::optional<std::size_t> find_foreign(std::span<const std::byte> bytes, std::uint64_t number);

} // namespace load

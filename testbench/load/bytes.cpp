#include "testbench/load/bytes.h"

#include "testbench/load/random.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace load {

namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

/// Word `i` of a content that begins so.
constexpr std::uint64_t word_of(std::uint64_t first, std::uint64_t i) { return first + i * 0x9e37'79b9'7f4a'7c15; }

} // namespace

void fill(std::span<std::byte> into, std::uint64_t number, std::uint64_t from) {
    const auto first = Random::mix(number + 1);
    for (std::size_t at = 0; at < into.size();) {
        const auto within = (from + at) % word, count = std::min(word - within, into.size() - at);
        const auto value = word_of(first, (from + at) / word);
        std::memcpy(&into[at], reinterpret_cast<const std::byte*>(&value) + within, count);
        at += count;
    }
}

std::optional<std::size_t> find_foreign(std::span<const std::byte> bytes, std::uint64_t number) {
    const auto first = Random::mix(number + 1);
    std::size_t at = 0;
    for (; at + word <= bytes.size(); at += word) {
        std::uint64_t found = 0;
        std::memcpy(&found, &bytes[at], word);
        if (found != word_of(first, at / word))
            break;
    }
    std::array<std::byte, word> expected{};
    for (; at < bytes.size(); ++at) {
        const auto value = word_of(first, at / word);
        std::memcpy(expected.data(), &value, word);
        if (bytes[at] != expected[at % word])
            return at;
    }
    return std::nullopt;
}

} // namespace load

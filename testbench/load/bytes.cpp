#include "testbench/load/bytes.h"

#include "testbench/load/random.h"

#include <algorithm>
#include <cstring>

namespace load {

namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

constexpr std::uint64_t step = 0x9e37'79b9'7f4a'7c15; ///< from a word to the next one

/// Word `i` of a content that begins so.
constexpr std::uint64_t word_of(std::uint64_t first, std::uint64_t i) { return first + i * step; }

std::uint64_t word_at(const std::byte* at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, word);
    return value;
}

} // namespace

// Each message is filled and looked at whole, so that what follows costs as much as the way that it goes.

void fill(std::span<std::byte> into, std::uint64_t number, std::uint64_t from) {
    const auto first = Random::mix(number + 1);
    const auto put_part = [&](std::size_t at, std::size_t count) {
        const auto value = word_of(first, (from + at) / word);
        std::memcpy(&into[at], reinterpret_cast<const std::byte*>(&value) + (from + at) % word, count);
    };
    std::size_t at = 0;
    if (from % word != 0 && !into.empty())
        put_part(0, at = std::min(word - from % word, into.size()));
    auto value = word_of(first, (from + at) / word);
    for (; at + word <= into.size(); at += word, value += step)
        std::memcpy(&into[at], &value, word);
    if (at < into.size())
        put_part(at, into.size() - at);
}

std::optional<std::size_t> find_foreign(std::span<const std::byte> bytes, std::uint64_t number) {
    constexpr std::size_t words = 8; // that are looked at together
    const auto first = Random::mix(number + 1);
    std::size_t at = 0;
    for (auto value = first; at + words * word <= bytes.size(); at += words * word) {
        std::uint64_t difference = 0;
        for (std::size_t i = 0; i < words; ++i, value += step)
            difference |= word_at(&bytes[at + i * word]) ^ value;
        if (difference != 0)
            break;
    }
    for (; at < bytes.size(); ++at) {
        const auto value = word_of(first, at / word);
        if (bytes[at] != reinterpret_cast<const std::byte*>(&value)[at % word])
            return at;
    }
    return std::nullopt;
}

} // namespace load

#include "testbench/workload/values.h"

#include "testbench/load/random.h"

#include <cstring>

namespace workload {

using load::Random;

namespace {

constexpr std::size_t word = sizeof(std::uint32_t);

std::uint32_t load_word(const std::byte* from) {
    std::uint32_t value = 0;
    std::memcpy(&value, from, word);
    return value;
}

/// What two halves of a drawn number make of a sum.
std::uint32_t value_of(std::uint64_t drawn, const Values::Sum& sum) {
    return sum.count * static_cast<std::uint32_t>(drawn) + sum.factor * (static_cast<std::uint32_t>(drawn >> 32) | 1);
}

} // namespace

Values::Values(std::uint64_t seed, std::uint64_t operation) : base_(Random(seed, operation).next()) {}

std::uint32_t Values::factor_of(std::uint32_t rank) const {
    return static_cast<std::uint32_t>(Random::mix(base_ ^ (std::uint64_t{rank} + 1)));
}

void Values::add(Sum& sum, std::uint32_t rank) const { ++sum.count, sum.factor += factor_of(rank); }

void Values::fill(std::span<std::byte> into, std::uint32_t rank, std::uint64_t from) const {
    Sum one;
    add(one, rank);
    for (std::size_t at = 0; at < into.size(); at += word) {
        const auto value = value_of(Random::mix(base_ + (from + at) / word), one);
        std::memcpy(&into[at], &value, word);
    }
}

std::optional<std::size_t> Values::find_wrong(std::span<const std::byte> bytes, const Sum& sum,
                                              std::uint64_t from) const {
    for (std::size_t at = 0; at < bytes.size(); at += word)
        if (load_word(&bytes[at]) != value_of(Random::mix(base_ + (from + at) / word), sum))
            return at;
    return std::nullopt;
}

void add_words(std::span<std::byte> to, std::span<const std::byte> from) {
    for (std::size_t at = 0; at < to.size(); at += word) {
        const auto value = load_word(&to[at]) + load_word(&from[at]);
        std::memcpy(&to[at], &value, word);
    }
}

} // namespace workload

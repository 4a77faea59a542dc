#include "testbench/workload/kv_value.h"

#include "testbench/load/bytes.h"
#include "testbench/load/random.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace workload {

namespace {

constexpr std::size_t word = sizeof(std::uint64_t);
using Head = std::array<std::uint64_t, value_head_bytes / word>; ///< key, version, content, bytes, checksum

std::uint64_t checksum(const ValueHead& head, std::span<const std::byte> bytes) {
    auto sum = load::Random::mix(head.key + 1);
    const auto add = [&](std::uint64_t value) { sum = load::Random::mix(sum ^ value); };
    add(head.version);
    add(head.content);
    add(head.bytes);
    for (std::size_t at = 0; at < bytes.size(); at += word) {
        std::uint64_t value = 0;
        std::memcpy(&value, &bytes[at], std::min(word, bytes.size() - at));
        add(value);
    }
    return sum;
}

} // namespace

void write_value(std::span<std::byte> into, const ValueHead& head) {
    const auto bytes = into.subspan(value_head_bytes, head.bytes);
    load::fill(bytes, head.content);
    const Head words{head.key, head.version, head.content, head.bytes, checksum(head, bytes)};
    std::memcpy(into.data(), words.data(), sizeof words);
}

std::optional<ValueHead> read_value(std::span<const std::byte> from) {
    Head words{};
    if (from.size() < sizeof words)
        return std::nullopt;
    std::memcpy(words.data(), from.data(), sizeof words);
    if (words[3] > from.size() - sizeof words)
        return std::nullopt;
    const ValueHead head{words[0], words[1], words[2], static_cast<std::uint32_t>(words[3])};
    if (checksum(head, from.subspan(value_head_bytes, head.bytes)) != words[4])
        return std::nullopt;
    return head;
}

std::optional<std::size_t> find_foreign_value(std::span<const std::byte> from, const ValueHead& head) {
    return load::find_foreign(from.subspan(value_head_bytes, head.bytes), head.content);
}

} // namespace workload

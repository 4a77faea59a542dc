// What a client of a key-value store sends to a server, as bytes.
#pragma once

#include "testbench/workload/kv_plan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace workload {

/// What stands at the begin of a SEND to a server; the bytes of a PUT are behind it.
struct KvRequest {
    KvKind kind{};
    std::uint32_t slot = 0; ///< of the client's operation, which the answer names
    std::uint64_t key = 0, content = 0;
    std::uint32_t bytes = 0;

    static constexpr std::size_t size = 32;
    void write(std::span<std::byte> into) const {
        const std::array<std::uint64_t, 4> words{std::uint64_t{slot} << 8 | static_cast<std::uint64_t>(kind), key,
                                                 content, bytes};
        std::memcpy(into.data(), words.data(), size);
    }
    static KvRequest read(std::span<const std::byte> from) {
        std::array<std::uint64_t, 4> words{};
        std::memcpy(words.data(), from.data(), size);
        return {static_cast<KvKind>(words[0] & 1), static_cast<std::uint32_t>(words[0] >> 8), words[1], words[2],
                static_cast<std::uint32_t>(words[3])};
    }
};

} // namespace workload

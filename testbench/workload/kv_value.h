// A value as it lies in a server's memory: a head that says of which key, which version and how many bytes it is, with
// a checksum over all of it, and the bytes. Who READs it while it is written finds that the checksum is wrong, and
// reads again (Mitchell, Geng, Li: "Using one-sided RDMA reads to build a fast, CPU-efficient key-value store", USENIX
// ATC 2013).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace workload {

struct ValueHead {
    std::uint64_t key = 0, version = 0;
    std::uint64_t content = 0; ///< number of what its bytes are (testbench/load/bytes.h)
    std::uint32_t bytes = 0;
    bool operator==(const ValueHead&) const = default;
};

inline constexpr std::size_t value_head_bytes = 40;

/// Bytes of the content, beside a head with their checksum, into the begin of `into`.
void write_value(std::span<std::byte> into, const ValueHead& head);
/// The head of what begins there; nothing: its checksum is wrong, so that it is of two versions.
std::optional<ValueHead> read_value(std::span<const std::byte> from);
/// The first byte behind the head that is not of the content which the head names, from the begin of these bytes.
std::optional<std::size_t> find_foreign_value(std::span<const std::byte> from, const ValueHead& head);

} // namespace workload

// The bytes that a workload moves, read piece by piece when they are needed: a large file costs no memory of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <utility>

namespace scenario {

class PayloadSource {
public:
    using Outcome = std::expected<void, std::string>;
    /// Fills all of `into` from `offset` on, within the size. The error is one line: the file has become shorter.
    using Read = std::function<Outcome(std::uint64_t offset, std::span<std::byte> into)>;

    PayloadSource() : PayloadSource(std::span<const std::byte>{}) {}
    PayloadSource(std::uint64_t size, Read read) : size_(size), read_(std::move(read)) {}
    /// What lies in memory, and stays there.
    PayloadSource(std::span<const std::byte> bytes)
        : PayloadSource(bytes.size(), [bytes](std::uint64_t offset, std::span<std::byte> into) -> Outcome {
              std::ranges::copy(bytes.subspan(offset, into.size()), into.begin());
              return {};
          }) {}

    std::uint64_t size() const { return size_; }
    Outcome read(std::uint64_t offset, std::span<std::byte> into) const { return read_(offset, into); }

private:
    std::uint64_t size_;
    Read read_;
};

} // namespace scenario

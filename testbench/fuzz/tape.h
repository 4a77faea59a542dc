// The fuzzer's bytes, read from the front; behind their end everything is zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fuzz {

class Tape {
public:
    Tape(const std::uint8_t* data, std::size_t size) : left_(std::as_bytes(std::span(data, size))) {}
    bool is_over() const { return left_.empty(); }
    template <class T> T take() {
        T value{};
        fill(std::as_writable_bytes(std::span(&value, 1)));
        return value;
    }
    void fill(std::span<std::byte> bytes) {
        const auto from = take_bytes(bytes.size());
        std::ranges::copy(from, bytes.begin());
    }
    /// The next `count` bytes, or as many as there are.
    std::span<const std::byte> take_bytes(std::size_t count) {
        const auto out = left_.first(std::min(left_.size(), count));
        left_ = left_.subspan(out.size());
        return out;
    }

private:
    std::span<const std::byte> left_;
};

} // namespace fuzz

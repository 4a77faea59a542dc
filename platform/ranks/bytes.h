// Values one after the other, as ranks send them to each other: little endian, at their own size. Reading has bounds:
// what another process has sent is not believed.
#pragma once

#include "model/port/time.h"

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace platform::ranks {

using Bytes = std::vector<std::byte>;

template <class T>
concept Plain = std::integral<T> || std::is_enum_v<T> || std::same_as<T, double>;

class Writer {
public:
    explicit Writer(Bytes& out) : out_(out) {}

    template <Plain T> void put(T value) {
        if constexpr (std::is_enum_v<T>) {
            put(static_cast<std::underlying_type_t<T>>(value));
        } else if constexpr (std::same_as<T, double>) {
            put(std::bit_cast<std::uint64_t>(value));
        } else {
            if constexpr (std::endian::native == std::endian::big && sizeof(T) > 1)
                value = std::byteswap(value);
            const auto at = out_.size();
            out_.resize(at + sizeof(T));
            std::memcpy(out_.data() + at, &value, sizeof(T));
        }
    }
    void put(model::port::Time time) { put(std::int64_t{time.count()}); }
    /// Their number in front.
    void put(std::span<const std::byte> bytes) {
        put(static_cast<std::uint32_t>(bytes.size()));
        append(bytes);
    }
    void put(std::string_view text) { put(std::as_bytes(std::span(text))); }
    void append(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

private:
    Bytes& out_;
};

class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

    /// Whether all that was read was there.
    bool is_good() const { return is_good_; }
    bool is_at_end() const { return left_.empty(); }
    /// Nothing is left, and nothing was missing.
    bool is_complete() const { return is_good_ && left_.empty(); }

    /// 0 where nothing is left.
    template <Plain T> T get() {
        if constexpr (std::is_enum_v<T>) {
            return static_cast<T>(get<std::underlying_type_t<T>>());
        } else if constexpr (std::same_as<T, double>) {
            return std::bit_cast<double>(get<std::uint64_t>());
        } else if constexpr (std::same_as<T, bool>) {
            return get<std::uint8_t>() != 0;
        } else {
            T value{};
            const auto bytes = take(sizeof(T));
            if (bytes.empty())
                return value;
            std::memcpy(&value, bytes.data(), sizeof(T));
            if constexpr (std::endian::native == std::endian::big && sizeof(T) > 1)
                value = std::byteswap(value);
            return value;
        }
    }
    model::port::Time get_time() { return model::port::Time{get<std::int64_t>()}; }
    /// What put(span) has written; valid as long as the bytes are.
    std::span<const std::byte> get_bytes() { return take(get<std::uint32_t>()); }
    std::string get_text() {
        const auto bytes = get_bytes();
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    std::span<const std::byte> take(std::size_t count) {
        if (count > left_.size()) {
            is_good_ = false;
            left_ = {};
            return {};
        }
        const auto bytes = left_.first(count);
        left_ = left_.subspan(count);
        return bytes;
    }
    void refuse() {
        is_good_ = false;
        left_ = {};
    }

private:
    std::span<const std::byte> left_;
    bool is_good_ = true;
};

} // namespace platform::ranks

// Numbers that must not be confused. Each is a plain integer in a type of its own.
#pragma once

#include <compare>
#include <cstdint>

namespace abi {

/// A number of kind `Tag`; compares and orders like its value.
template <class Tag, class Rep = std::uint32_t> struct Number {
    Rep value{};
    constexpr Number() = default;
    constexpr explicit Number(Rep v) : value(v) {}
    constexpr auto operator<=>(const Number&) const = default;
};

using Qpn = Number<struct QpnTag>; ///< queue pair number, 24 bits
using Cqn = Number<struct CqnTag>; ///< completion queue number, 24 bits
using Eqn = Number<struct EqnTag>; ///< event queue number, 8 bits
using Pd = Number<struct PdTag>;   ///< protection domain, 24 bits

/// An address as it stands in a work request: what a memory key translates.
using Iova = Number<struct IovaTag, std::uint64_t>;
/// An address as it stands in a TLP.
using BusAddress = Number<struct BusAddressTag, std::uint64_t>;

constexpr BusAddress operator+(BusAddress a, std::uint64_t n) { return BusAddress{a.value + n}; }
constexpr Iova operator+(Iova a, std::uint64_t n) { return Iova{a.value + n}; }

/// A memory key: index of the context in the upper 24 bits, variant chosen by software in the lower 8 (PRM "Memory
/// key").
struct Key {
    std::uint32_t value{};
    constexpr Key() = default;
    constexpr explicit Key(std::uint32_t v) : value(v) {}
    constexpr Key(std::uint32_t index, std::uint8_t variant) : value(index << 8 | variant) {}
    constexpr std::uint32_t index() const { return value >> 8; }
    constexpr std::uint8_t variant() const { return static_cast<std::uint8_t>(value); }
    constexpr auto operator<=>(const Key&) const = default;
};

/// A packet sequence number: 24 bits, circular (IBA 9.7.2). Differences are signed and valid within +-2^23.
struct Psn {
    static constexpr std::uint32_t mask = 0xffffff;
    std::uint32_t value{};
    constexpr Psn() = default;
    constexpr explicit Psn(std::uint32_t v) : value(v & mask) {}
    constexpr Psn operator+(std::uint32_t n) const { return Psn{value + n}; }
    constexpr Psn& operator+=(std::uint32_t n) { return *this = *this + n; }
    /// How far this number is ahead of `other`; negative when behind.
    constexpr std::int32_t operator-(Psn other) const {
        return static_cast<std::int32_t>((value - other.value) << 8) >> 8;
    }
    constexpr bool operator==(const Psn&) const = default;
    constexpr bool is_before(Psn other) const { return *this - other < 0; }
    constexpr bool is_after(Psn other) const { return *this - other > 0; }
};

} // namespace abi

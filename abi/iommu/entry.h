// Structures of VT-d as its document draws them: bits numbered from 0 over the whole structure, little endian, in
// 64-bit words. What has no row is reserved, so "are the reserved bits clear" comes from the same rows as the fields.
//
//   using ContextEntry = Entry<"context_entry", 16,
//       Field<"p", 0>, Field<"tt", 3, 2>, Address<"ssptptr", 63, 12>, Ignored<70, 67>, Field<"did", 87, 72>>;
//   auto entry = ContextEntry::from(bytes);
//   entry.get<"did">(); entry.has_reserved();
//
// abi/layout.h numbers bits within dwords and knows no fields across them; a page-table walk wants the 64-bit word.
#pragma once

#include "abi/layout.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace abi::iommu {

/// Bits [Hi:Lo] of the structure, as a number (or a bool, or an enumeration).
template <Name N, unsigned Hi, unsigned Lo = Hi, class T = std::uint64_t> struct Field {
    static_assert(Lo <= Hi && Hi / 64 == Lo / 64, "a field stays within its 64-bit word");
    static constexpr auto name = N;
    static constexpr bool is_named = true;
    static constexpr unsigned high = Hi, low = Lo, word = Lo / 64, shift = Lo % 64;
    static constexpr std::uint64_t mask = ~std::uint64_t{0} >> (63 - (Hi - Lo)) << shift;
    using type = T;
    static constexpr T get(std::uint64_t bits) { return static_cast<T>((bits & mask) >> shift); }
    static constexpr std::uint64_t put(T value) { return static_cast<std::uint64_t>(value) << shift & mask; }
};
template <Name N, unsigned Bit> using Flag = Field<N, Bit, Bit, bool>;

/// Bits [Hi:Lo] that are those bits of an address: the value stands in place, it is not shifted down.
template <Name N, unsigned Hi, unsigned Lo> struct Address : Field<N, Hi, Lo> {
    using Base = Field<N, Hi, Lo>;
    static constexpr unsigned down = Base::word * 64;
    static constexpr std::uint64_t get(std::uint64_t bits) { return bits & Base::mask; }
    static constexpr std::uint64_t put(std::uint64_t value) { return value & Base::mask; }
};

/// Bits that hardware ignores: not reserved, and of no meaning.
template <unsigned Hi, unsigned Lo = Hi> struct Ignored : Field<"", Hi, Lo> {
    static constexpr bool is_named = false;
};

struct EntryField {
    std::string_view name;
    unsigned high, low;
    bool is_address;
};

/// A structure of `Bytes` bytes (a register has 4 or 8), held as its 64-bit words.
template <Name N, std::size_t Bytes, class... Fs> struct Entry {
    static constexpr auto name = N;
    static constexpr std::size_t size = Bytes;
    static constexpr std::size_t word_count = (Bytes + 7) / 8;
    using Words = std::array<std::uint64_t, word_count>;

    static consteval Words make_defined() {
        Words taken{};
        for (const auto& [word, mask] : {std::pair{Fs::word, Fs::mask}...}) {
            if (word >= word_count || (taken[word] & mask) != 0)
                throw "two rows of this structure overlap, or one leaves it";
            taken[word] |= mask;
        }
        if (Bytes == 4 && taken[0] >> 32 != 0)
            throw "a row leaves the register";
        return taken;
    }
    /// Bits that have a row.
    static constexpr Words defined = make_defined();

    static constexpr std::size_t named_count = (std::size_t{Fs::is_named} + ...);
    static constexpr std::array<EntryField, named_count> fields = [] {
        std::array<EntryField, named_count> list{};
        std::size_t at = 0;
        ((Fs::is_named ? void(list[at++] = {Fs::name.view(), Fs::high, Fs::low,
                                            requires { Fs::down;
    }})
                       : void()),
         ...);
return list;
}
();

template <Name F> static consteval std::size_t index() {
    std::size_t at = 0, found = sizeof...(Fs);
    ((Fs::is_named && Fs::name.view() == F.view() ? void(found = at++) : void(++at)), ...);
    return found;
}
template <Name F> struct find {
    static constexpr std::size_t at = index<F>();
    static_assert(at < sizeof...(Fs), "no field of that name in this structure");
    using type = typename std::tuple_element_t<at, std::tuple<std::type_identity<Fs>...>>::type;
};
template <Name F> using field = typename find<F>::type;
template <Name F> static constexpr std::uint64_t mask = field<F>::mask;

Words words{};

constexpr Entry() = default;
constexpr explicit Entry(const Words& w) : words(w) {}
constexpr explicit Entry(std::uint64_t word)
    requires(word_count == 1)
    : words{word} {}
static constexpr Entry from(std::span<const std::byte> bytes)
    requires(Bytes % 8 == 0)
{
    assert(bytes.size() >= Bytes);
    Entry entry;
    for (std::size_t i = 0; i < word_count; ++i)
        entry.words[i] = load<std::uint64_t, Endian::little>(bytes.data() + 8 * i);
    return entry;
}
constexpr void to(std::span<std::byte> bytes) const
    requires(Bytes % 8 == 0)
{
    assert(bytes.size() >= Bytes);
    for (std::size_t i = 0; i < word_count; ++i)
        store<std::uint64_t, Endian::little>(bytes.data() + 8 * i, words[i]);
}
constexpr std::array<std::byte, Bytes> bytes() const
    requires(Bytes % 8 == 0)
{
    std::array<std::byte, Bytes> out{};
    to(out);
    return out;
}

template <Name F> constexpr auto get() const { return field<F>::get(words[field<F>::word]); }
template <Name F> constexpr Entry& set(typename field<F>::type value) {
    auto& word = words[field<F>::word];
    word = (word & ~field<F>::mask) | field<F>::put(value);
    return *this;
}
/// Whether a bit without a row is set.
constexpr bool has_reserved() const {
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < word_count; ++i)
        wrong |= words[i] & ~defined[i];
    return wrong != 0;
}
/// The one word of a register or a paging entry.
constexpr std::uint64_t value() const
    requires(word_count == 1)
{
    return words[0];
}
constexpr bool operator==(const Entry&) const = default;
}
;

} // namespace abi::iommu

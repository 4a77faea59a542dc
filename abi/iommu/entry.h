// Structures of VT-d as its document draws them: bits numbered from 0 over the whole structure, little endian, in
// 64-bit words. Bits without a row are reserved, so the rows also say which bits must be zero.
//
//   using ContextEntry = Entry<"context_entry", 16,
//       Field<"p", 0>, Field<"tt", 3, 2>, Address<"ssptptr", 63, 12>, Ignored<70, 67>, Field<"did", 87, 72>>;
//   auto entry = ContextEntry::from(bytes);
//   entry.get<"did">(); entry.has_reserved();
//
// A row of a register says as its last argument what software may do to it: Flag<"iqe", 4, rw1c>. What a write does to
// the register follows from that: `written()`.
//
// abi/layout.h numbers bits within dwords and knows no fields across them; a page-table walk wants the 64-bit word.
#pragma once

#include "abi/layout.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace abi::iommu {

/// Bits [Hi:Lo] of the structure, as a number (or a bool, or an enumeration). `A`, or `T` where the type is left out,
/// may be the access policy.
template <Name N, unsigned Hi, unsigned Lo = Hi, class T = std::uint64_t, class A = T> struct Field {
    static_assert(Lo <= Hi && Hi / 64 == Lo / 64, "a field stays within its 64-bit word");
    static constexpr auto name = N;
    static constexpr bool is_named = true, is_address = false;
    static constexpr unsigned high = Hi, low = Lo, word = Lo / 64, shift = Lo % 64;
    static constexpr std::uint64_t mask = ~std::uint64_t{0} >> (63 - (Hi - Lo)) << shift;
    static constexpr AccessPolicy access = detail::policy_of<A>;
    using type = typename detail::ValueType<T, std::uint64_t>::type;
    static constexpr type get(std::uint64_t bits) { return static_cast<type>((bits & mask) >> shift); }
    static constexpr std::uint64_t put(type value) { return static_cast<std::uint64_t>(value) << shift & mask; }
};
template <Name N, unsigned Bit, class A = void> using Flag = Field<N, Bit, Bit, bool, A>;

/// Bits [Hi:Lo] that are those bits of an address: the value stands in place, it is not shifted down.
template <Name N, unsigned Hi, unsigned Lo, class A = void> struct Address : Field<N, Hi, Lo, std::uint64_t, A> {
    using Base = Field<N, Hi, Lo, std::uint64_t, A>;
    static constexpr bool is_address = true;
    static constexpr std::uint64_t get(std::uint64_t bits) { return bits & Base::mask; }
    static constexpr std::uint64_t put(std::uint64_t value) { return value & Base::mask; }
};

/// Bits that hardware ignores: they are not reserved and have no meaning.
template <unsigned Hi, unsigned Lo = Hi> struct Ignored : Field<"", Hi, Lo> {
    static constexpr bool is_named = false;
};

/// What software writes to a register: all of it, or one dword of a register of 64 bits.
struct Written {
    std::uint64_t bits = 0, lanes = ~std::uint64_t{0};
};
constexpr Written lower_dword(std::uint32_t value) { return {value, 0xffff'ffff}; }
constexpr Written upper_dword(std::uint32_t value) { return {std::uint64_t{value} << 32, ~std::uint64_t{0xffff'ffff}}; }

struct EntryField {
    std::string_view name;
    unsigned high, low;
    bool is_address;
    AccessPolicy access;
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

    template <class Is> static consteval Words make_mask(Is is) {
        Words mask{};
        ((is(Fs::access) ? void(mask[Fs::word] |= Fs::mask) : void()), ...);
        return mask;
    }
    /// Bits that take what software writes, and bits that it clears by writing 1.
    static constexpr Words writable = make_mask(abi::is_writable);
    static constexpr Words clearable = make_mask([](AccessPolicy policy) { return policy == AccessPolicy::rw1c; });
    /// Whether this is a register: all its rows say what software may do.
    static constexpr bool states_access = ((Fs::access != AccessPolicy::unstated) && ...);

    static constexpr std::size_t named_count = (std::size_t{Fs::is_named} + ...);
    static constexpr std::array<EntryField, named_count> fields = [] {
        std::array<EntryField, named_count> list{};
        std::size_t at = 0;
        ((Fs::is_named ? void(list[at++] = {Fs::name.view(), Fs::high, Fs::low, Fs::is_address, Fs::access}) : void()),
         ...);
        return list;
    }();

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
    /// The register after software has written to its word `i`. Bits without a row stay as they are.
    constexpr Entry written(Written value, std::size_t i = 0) const
        requires states_access
    {
        auto after = *this;
        const auto ones = value.bits & value.lanes;
        after.words[i] = (words[i] & ~(writable[i] & value.lanes) & ~(clearable[i] & ones)) | (writable[i] & ones);
        return after;
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
};

} // namespace abi::iommu

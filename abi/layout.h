// The layout language: structures of a specification written the way the specification prints them.
//
//   using Cqe64 = Layout<"cqe64", 64,
//       Bits<"byte_cnt", 0x2c, 31, 0>,        // dword at byte 0x2c, bits 31..0
//       U64 <"timestamp", 0x30>>;             // 64-bit value at byte 0x30
//   View<Cqe64> cqe{bytes};
//   cqe.set<"byte_cnt">(4096);
//
// A row that overlaps another, or leaves the structure, does not compile. Access compiles to load, byte swap and mask.
// A row of a register says as its last argument what software may do to it: Bits<"enable", 0x4, 31, 31, bool, rw>.
#pragma once

#include "abi/access.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace abi {

/// A string usable as a template argument: the name of a layout or of a row.
template <std::size_t N> struct Name {
    char text[N]{};
    consteval Name(const char (&s)[N]) { std::copy_n(s, N, text); }
    constexpr std::string_view view() const { return {text, N - 1}; }
};

/// Byte order of the integers of a layout. PRM and wire structures are big endian; PCIe, NVMe and VT-d are little
/// endian.
using Endian = std::endian;

/// Loads an unsigned integer of `sizeof(T)` bytes from `p`; usable in constant expressions.
template <class T, Endian E> constexpr T load(const std::byte* p) {
    if (std::is_constant_evaluated()) {
        T value = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            const auto at = E == Endian::big ? i : sizeof(T) - 1 - i;
            value = static_cast<T>((value << 7) << 1 | std::to_integer<T>(p[at]));
        }
        return value;
    }
    T value;
    std::memcpy(&value, p, sizeof value);
    if constexpr (E != Endian::native && sizeof(T) > 1)
        value = std::byteswap(value);
    return value;
}

/// Stores an unsigned integer of `sizeof(T)` bytes at `p`; usable in constant expressions.
template <class T, Endian E> constexpr void store(std::byte* p, T value) {
    if (std::is_constant_evaluated()) {
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            const auto at = E == Endian::big ? sizeof(T) - 1 - i : i;
            p[at] = static_cast<std::byte>(value & 0xff);
            value = static_cast<T>((value >> 7) >> 1);
        }
        return;
    }
    if constexpr (E != Endian::native && sizeof(T) > 1)
        value = std::byteswap(value);
    std::memcpy(p, &value, sizeof value);
}

/// Bits [Hi:Lo] of the dword at byte offset `Dw`, read as `T` (an integer, bool or enumeration). `A`, or `T` where the
/// type is left out, may be the access policy.
template <Name N, std::size_t Dw, unsigned Hi, unsigned Lo = Hi, class T = std::uint32_t, class A = T> struct Bits {
    static_assert(Dw % 4 == 0 && Hi < 32 && Lo <= Hi);
    static constexpr auto name = N;
    static constexpr std::size_t offset = Dw, bytes = 4;
    static constexpr unsigned high = Hi, low = Lo;
    static constexpr std::size_t width = Hi - Lo + 1;
    static constexpr std::uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
    static constexpr AccessPolicy access = detail::policy_of<A>;
    using type = typename detail::ValueType<T, std::uint32_t>::type;
    template <Endian E> static constexpr type get(const std::byte* p) {
        return static_cast<type>(load<std::uint32_t, E>(p + Dw) >> Lo & mask);
    }
    template <Endian E> static constexpr void set(std::byte* p, type value) {
        const auto bits = static_cast<std::uint32_t>(value) & mask;
        if constexpr (width == 32)
            store<std::uint32_t, E>(p + Dw, bits);
        else
            store<std::uint32_t, E>(p + Dw, (load<std::uint32_t, E>(p + Dw) & ~(mask << Lo)) | bits << Lo);
    }
};

/// An unaligned whole integer of one, two or four bytes at byte offset `Off`.
template <Name N, std::size_t Off, class T, class A = void> struct Whole {
    static constexpr auto name = N;
    static constexpr std::size_t offset = Off, bytes = sizeof(T);
    static constexpr unsigned high = sizeof(T) * 8 - 1, low = 0;
    static constexpr std::size_t width = sizeof(T) * 8;
    static constexpr AccessPolicy access = detail::policy_of<A>;
    using type = T;
    template <Endian E> static constexpr T get(const std::byte* p) { return load<T, E>(p + Off); }
    template <Endian E> static constexpr void set(std::byte* p, T value) { store<T, E>(p + Off, value); }
};
template <Name N, std::size_t Off, class A = void> using U8 = Whole<N, Off, std::uint8_t, A>;
template <Name N, std::size_t Off, class A = void> using U16 = Whole<N, Off, std::uint16_t, A>;
template <Name N, std::size_t Off, class A = void> using U32 = Whole<N, Off, std::uint32_t, A>;
template <Name N, std::size_t Off, class A = void> using U64 = Whole<N, Off, std::uint64_t, A>;

/// `Count` raw bytes at byte offset `Off` (addresses, strings, opaque areas).
template <Name N, std::size_t Off, std::size_t Count, class A = void> struct Raw {
    static constexpr auto name = N;
    static constexpr std::size_t offset = Off, bytes = Count;
    static constexpr unsigned high = 0, low = 0;
    static constexpr std::size_t width = Count * 8;
    static constexpr AccessPolicy access = detail::policy_of<A>;
    using type = std::array<std::byte, Count>;
    template <Endian> static constexpr type get(const std::byte* p) {
        type value{};
        std::copy_n(p + Off, Count, value.begin());
        return value;
    }
    template <Endian> static constexpr void set(std::byte* p, const type& value) {
        std::copy_n(value.begin(), Count, p + Off);
    }
};

/// A structure embedded at byte offset `Off`.
template <Name N, std::size_t Off, class L> struct Sub {
    static constexpr auto name = N;
    static constexpr std::size_t offset = Off, bytes = L::size;
    static constexpr unsigned high = 0, low = 0;
    static constexpr std::size_t width = L::size * 8;
    static constexpr AccessPolicy access = AccessPolicy::unstated; ///< that of its rows
    using layout = L;
};

enum class FieldKind : std::uint8_t { bits, whole, raw, sub };

/// What a printer, a trace decoder or a witness needs to know of a row.
struct FieldInfo {
    std::string_view name;
    FieldKind kind;
    std::size_t offset; ///< byte offset of the dword (bits) or of the first byte
    std::size_t bytes;
    unsigned high, low; ///< bit numbers within the dword, for `bits`
    AccessPolicy access = AccessPolicy::unstated;
};

namespace detail {
template <class F> constexpr FieldKind kind_of = FieldKind::sub;
template <Name N, std::size_t D, unsigned H, unsigned L, class T, class A>
constexpr FieldKind kind_of<Bits<N, D, H, L, T, A>> = FieldKind::bits;
template <Name N, std::size_t O, class T, class A> constexpr FieldKind kind_of<Whole<N, O, T, A>> = FieldKind::whole;
template <Name N, std::size_t O, std::size_t C, class A> constexpr FieldKind kind_of<Raw<N, O, C, A>> = FieldKind::raw;
} // namespace detail

/// A structure of `Bytes` bytes whose integers have byte order `E`; see the head of this file.
template <Name N, std::size_t Bytes, Endian E, class... Fs> struct OrderedLayout {
    static constexpr auto name = N;
    static constexpr std::size_t size = Bytes;
    static constexpr Endian endian = E;
    static constexpr std::array<FieldInfo, sizeof...(Fs)> fields{
        FieldInfo{Fs::name.view(), detail::kind_of<Fs>, Fs::offset, Fs::bytes, Fs::high, Fs::low, Fs::access}...};

    /// True when every row lies inside the structure and no two rows share a bit.
    static consteval bool is_sane() {
        std::array<std::uint8_t, Bytes> used{};
        for (const auto& f : fields) {
            if (f.offset + f.bytes > Bytes)
                return false;
            for (std::size_t b = 0; b < f.bytes; ++b) {
                std::uint8_t bits = 0xff;
                if (f.kind == FieldKind::bits) {
                    const std::uint32_t mask = (f.high - f.low == 31 ? ~0u : (1u << (f.high - f.low + 1)) - 1) << f.low;
                    const auto shift = (E == Endian::big ? 3 - b : b) * 8;
                    bits = static_cast<std::uint8_t>(mask >> shift & 0xff);
                }
                if (used[f.offset + b] & bits)
                    return false;
                used[f.offset + b] |= bits;
            }
        }
        return true;
    }
    static_assert(is_sane(), "two rows of this layout overlap, or one leaves it");

    template <Name F> static consteval std::size_t index() {
        for (std::size_t i = 0; i < fields.size(); ++i)
            if (fields[i].name == F.view())
                return i;
        return fields.size();
    }
    template <Name F> struct find {
        static constexpr std::size_t at = index<F>();
        static_assert(at < sizeof...(Fs), "no field of that name in this layout");
        using type = typename std::tuple_element_t<at, std::tuple<std::type_identity<Fs>...>>::type;
    };
    template <Name F> using field = typename find<F>::type;

    /// Calls `visit(type_identity<Row>)` for each row, in order.
    template <class Visit> static constexpr void for_each(Visit&& visit) { (visit(std::type_identity<Fs>{}), ...); }
};
template <Name N, std::size_t Bytes, class... Fs> using Layout = OrderedLayout<N, Bytes, Endian::big, Fs...>;
template <Name N, std::size_t Bytes, class... Fs> using LittleLayout = OrderedLayout<N, Bytes, Endian::little, Fs...>;

/// Typed window over raw bytes; `B` is std::byte or const std::byte. The bytes must hold at least `L::size`.
template <class L, class B = std::byte> class View {
public:
    using layout = L;
    constexpr explicit View(std::span<B> bytes) : p_(bytes.data()) { assert(bytes.size() >= L::size); }
    template <std::size_t Count>
    constexpr explicit View(std::array<std::byte, Count>& bytes)
        requires(Count >= L::size)
        : p_(bytes.data()) {}
    template <std::size_t Count>
    constexpr explicit View(const std::array<std::byte, Count>& bytes)
        requires(Count >= L::size && std::is_const_v<B>)
        : p_(bytes.data()) {}
    template <class Writable>
    constexpr View(const View<L, Writable>& other)
        requires(std::is_const_v<B> && !std::is_const_v<Writable>)
        : p_(other.bytes().data()) {}

    template <Name F> constexpr auto get() const { return L::template field<F>::template get<L::endian>(p_); }
    template <Name F> constexpr const View& set(typename L::template field<F>::type value) const {
        L::template field<F>::template set<L::endian>(p_, value);
        return *this;
    }
    template <Name F> constexpr auto sub() const {
        using S = typename L::template field<F>;
        return View<typename S::layout, B>(std::span<B>(p_ + S::offset, S::layout::size));
    }
    constexpr std::span<B, L::size> bytes() const { return std::span<B, L::size>(p_, L::size); }

private:
    B* p_;
};
template <class L> using ConstView = View<L, const std::byte>;

/// Storage for one structure, zeroed, with its view.
template <class L> struct Block {
    std::array<std::byte, L::size> bytes{};
    constexpr View<L> view() { return View<L>(bytes); }
    constexpr ConstView<L> view() const { return ConstView<L>(bytes); }
};

} // namespace abi

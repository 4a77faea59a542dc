// Describes and prints any layout from its rows: `layout_info<L>` is the table, `print` turns bytes into text as one
// line, as a line for each field, or as JSON. Named enumerations show their names. Nothing here parses text.
#pragma once

#include "abi/layout.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace abi {

struct LayoutInfo;

/// A row of a layout as data: where it is, and how its value reads.
struct RowInfo {
    FieldInfo field;
    const LayoutInfo* nested;                      ///< the embedded structure, or null
    std::string_view (*value_name)(std::uint64_t); ///< name of a value of an enumeration, empty if unknown; or null
};

/// A layout as data.
struct LayoutInfo {
    std::string_view name;
    std::size_t size;
    Endian endian;
    std::span<const RowInfo> rows;
};

namespace detail {

template <class L> struct Describe;

template <class F> constexpr const LayoutInfo* nested_in() {
    if constexpr (kind_of<F> == FieldKind::sub)
        return &Describe<typename F::layout>::info;
    else
        return nullptr;
}

template <class F> constexpr auto value_name_of() -> std::string_view (*)(std::uint64_t) {
    if constexpr (requires {
                      requires std::is_enum_v<typename F::type>;
                      name(typename F::type{});
                  })
        return [](std::uint64_t value) { return name(static_cast<typename F::type>(value)); };
    else
        return nullptr;
}

template <Name N, std::size_t Bytes, Endian E, class... Fs> struct Describe<OrderedLayout<N, Bytes, E, Fs...>> {
    using L = OrderedLayout<N, Bytes, E, Fs...>;
    static constexpr std::array<RowInfo, sizeof...(Fs)> rows{
        RowInfo{FieldInfo{Fs::name.view(), kind_of<Fs>, Fs::offset, Fs::bytes, Fs::high, Fs::low, Fs::access},
                nested_in<Fs>(), value_name_of<Fs>()}...};
    static constexpr LayoutInfo info{L::name.view(), Bytes, E, rows};
};

} // namespace detail

/// The description of layout `L`.
template <class L> inline constexpr const LayoutInfo& layout_info = detail::Describe<L>::info;

/// Bit number, counted from the structure's first bit as a big-endian document counts, of the row's first bit.
/// Only for big-endian layouts.
constexpr std::size_t first_bit(const FieldInfo& field) {
    return field.kind == FieldKind::bits ? field.offset * 8 + 31 - field.high : field.offset * 8;
}
constexpr std::size_t width_in_bits(const FieldInfo& field) {
    return field.kind == FieldKind::bits ? field.high - field.low + 1 : field.bytes * 8;
}

enum class PrintForm : std::uint8_t {
    line,  ///< a=0x1 b=0x2 (RTS) c={d=0x3}
    lines, ///< one field a line; a nested field is c.d
    json,  ///< {"a":1,"b":2,"c":{"d":3}}; raw bytes are a string of hexadecimal digits
};
enum class PrintZeros : bool { no, yes };

/// The value of a row of kind `bits` or `whole`.
std::uint64_t value_of(const LayoutInfo& layout, const FieldInfo& field, std::span<const std::byte> bytes);

/// Appends the fields of `bytes`, read as `layout`, to `out`. `bytes` must hold at least the layout's size.
void print(std::string& out, const LayoutInfo& layout, std::span<const std::byte> bytes, PrintForm form,
           PrintZeros zeros = PrintZeros::yes);

template <class L, class B>
std::string to_string(View<L, B> view, PrintForm form = PrintForm::line, PrintZeros zeros = PrintZeros::yes) {
    std::string out;
    print(out, layout_info<L>, view.bytes(), form, zeros);
    return out;
}

} // namespace abi

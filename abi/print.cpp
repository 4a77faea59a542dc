#include "abi/print.h"

#include <algorithm>
#include <cassert>
#include <charconv>

namespace abi {
namespace {

using Bytes = std::span<const std::byte>;

template <class T> T load_as(Endian endian, const std::byte* p) {
    return endian == Endian::big ? load<T, Endian::big>(p) : load<T, Endian::little>(p);
}

void append_number(std::string& out, std::uint64_t value, int base) {
    char digits[20];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value, base).ptr;
    out.append(digits, end);
}

void append_raw(std::string& out, Bytes bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    for (const auto b : bytes) {
        out += digits[std::to_integer<unsigned>(b) >> 4];
        out += digits[std::to_integer<unsigned>(b) & 15];
    }
}

bool is_zero(const LayoutInfo& layout, const FieldInfo& field, Bytes bytes) {
    if (field.kind == FieldKind::bits || field.kind == FieldKind::whole)
        return value_of(layout, field, bytes) == 0;
    return std::ranges::all_of(bytes.subspan(field.offset, field.bytes), [](std::byte b) { return b == std::byte{}; });
}

struct Printer {
    std::string& out;
    PrintForm form;
    PrintZeros zeros;
    std::string prefix = {}; ///< names of the structures around, for `lines`

    void fields(const LayoutInfo& layout, Bytes bytes) {
        bool first = true;
        for (const auto& row : layout.rows) {
            if (zeros == PrintZeros::no && is_zero(layout, row.field, bytes))
                continue;
            if (!first && form != PrintForm::lines)
                out += form == PrintForm::json ? ',' : ' ';
            first = false;
            one(layout, row, bytes);
        }
    }

    void one(const LayoutInfo& layout, const RowInfo& row, Bytes bytes) {
        const auto& field = row.field;
        if (row.nested && form == PrintForm::lines) {
            const auto outside = prefix.size();
            prefix.append(field.name).append(".");
            fields(*row.nested, bytes.subspan(field.offset));
            prefix.resize(outside);
            return;
        }
        label(field.name);
        if (row.nested) {
            out += '{';
            fields(*row.nested, bytes.subspan(field.offset));
            out += '}';
        } else if (field.kind == FieldKind::raw) {
            if (form == PrintForm::json)
                out += '"';
            append_raw(out, bytes.subspan(field.offset, field.bytes));
            if (form == PrintForm::json)
                out += '"';
        } else {
            value(row, value_of(layout, field, bytes));
        }
        if (form == PrintForm::lines)
            out += '\n';
    }

    void label(std::string_view name) {
        if (form == PrintForm::json)
            out.append("\"").append(name).append("\":");
        else
            out.append(prefix).append(name).append("=");
    }

    void value(const RowInfo& row, std::uint64_t number) {
        if (form == PrintForm::json)
            return append_number(out, number, 10);
        out += "0x";
        append_number(out, number, 16);
        if (const auto text = row.value_name ? row.value_name(number) : std::string_view{}; !text.empty())
            out.append(" (").append(text).append(")");
    }
};

} // namespace

std::uint64_t value_of(const LayoutInfo& layout, const FieldInfo& field, Bytes bytes) {
    assert(field.kind == FieldKind::bits || field.kind == FieldKind::whole);
    const auto* p = bytes.data() + field.offset;
    if (field.kind == FieldKind::bits) {
        const auto width = field.high - field.low + 1;
        const auto mask = width == 32 ? ~0u : (1u << width) - 1;
        return load_as<std::uint32_t>(layout.endian, p) >> field.low & mask;
    }
    switch (field.bytes) {
    case 1: return load_as<std::uint8_t>(layout.endian, p);
    case 2: return load_as<std::uint16_t>(layout.endian, p);
    case 4: return load_as<std::uint32_t>(layout.endian, p);
    default: return load_as<std::uint64_t>(layout.endian, p);
    }
}

void print(std::string& out, const LayoutInfo& layout, Bytes bytes, PrintForm form, PrintZeros zeros) {
    assert(bytes.size() >= layout.size);
    if (form == PrintForm::json)
        out += '{';
    Printer{out, form, zeros}.fields(layout, bytes);
    if (form == PrintForm::json)
        out += '}';
}

} // namespace abi

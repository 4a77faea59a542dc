#include "platform/topology/value.h"

#include "platform/observe/files/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>

namespace platform::topology {
namespace {

struct Unit {
    std::string_view name;
    std::int64_t scale;
};

constexpr std::array size_units{Unit{"B", 1}, Unit{"KiB", 1LL << 10}, Unit{"MiB", 1LL << 20}, Unit{"GiB", 1LL << 30},
                                Unit{"TiB", 1LL << 40}};
constexpr std::array time_units{Unit{"ps", 1}, Unit{"ns", 1'000}, Unit{"us", 1'000'000}, Unit{"ms", 1'000'000'000},
                                Unit{"s", 1'000'000'000'000}};
constexpr std::int64_t picoseconds_per_bare_number = 1'000; // time keys are named _ns

std::span<const Unit> units_of(Kind kind) {
    return kind == Kind::size ? std::span<const Unit>(size_units) : std::span<const Unit>(time_units);
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    return first == text.npos ? std::string_view{} : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The whole of `text` as a number; decimal, or hexadecimal with 0x.
template <class T> bool read(std::string_view text, T& into) {
    std::from_chars_result result{};
    if constexpr (std::is_integral_v<T>) {
        if (text.starts_with("0x"))
            result = std::from_chars(text.data() + 2, text.data() + text.size(), into, 16);
        else
            result = std::from_chars(text.data(), text.data() + text.size(), into);
    } else {
        result = std::from_chars(text.data(), text.data() + text.size(), into);
    }
    return result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

/// What somebody may have meant who wrote another word for true or false.
std::string_view boolean_hint(std::string_view text) {
    constexpr std::array yes{"yes", "on", "1", "True", "TRUE", "Yes", "On", "y"};
    constexpr std::array no{"no", "off", "0", "False", "FALSE", "No", "Off", "n"};
    if (std::ranges::find(yes, text) != yes.end())
        return ", did you mean true?";
    return std::ranges::find(no, text) != no.end() ? ", did you mean false?" : "";
}

std::unexpected<std::string> expected_but(Kind kind, std::string_view found) {
    return std::unexpected(fmt::format("wants {}, not {}", name_of(kind), found));
}

std::string show(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value))
        return fmt::format("the text \"{}\"", *text);
    if (const auto* on = std::get_if<bool>(&value))
        return *on ? "true" : "false";
    if (const auto* integer = std::get_if<std::int64_t>(&value))
        return fmt::to_string(*integer);
    return fmt::to_string(std::get<double>(value));
}

/// amount * scale as a whole number, if it can be one.
bool scaled(double amount, std::int64_t scale, std::int64_t& into) {
    const double product = amount * static_cast<double>(scale);
    if (!(std::abs(product) < 9e18) || std::abs(product - std::round(product)) > 1e-6 * std::max(1.0, std::abs(amount)))
        return false;
    into = std::llround(product);
    return true;
}

/// What somebody may have meant who wrote "1 GB", "5 Mb" or "3 sec".
std::string unit_hint(Kind kind, std::string_view unit) {
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    const auto hint = [](std::string_view meant) { return fmt::format(", did you mean '{}'?", meant); };
    for (const auto& known : units_of(kind)) {
        if (std::ranges::equal(unit, known.name, same))
            return hint(known.name);
        // Powers of ten are no sizes here: "GB" and "G" stand for 2^30 or for a mistake, and who wrote them has to say.
        const bool is_prefix = kind == Kind::size && known.name.size() == 3 && same(unit.front(), known.name.front());
        if (is_prefix && (unit.size() == 1 || (unit.size() == 2 && same(unit[1], 'b'))))
            return hint(known.name);
    }
    if (kind == Kind::time && unit.starts_with("sec"))
        return hint("s");
    if (kind == Kind::time && (unit == "\u00b5s" || unit == "\u03bcs"))
        return hint("us");
    return {};
}

std::expected<Value, std::string> parse_quantity(Kind kind, std::string_view text) {
    auto split = text.find_first_not_of("0123456789.-+");
    // "1e12", as numbers without a unit may be written, too.
    if (split != text.npos && (text[split] == 'e' || text[split] == 'E'))
        if (const auto power = text.find_first_not_of("+-", split + 1);
            power != text.npos && power <= split + 2 && text[power] >= '0' && text[power] <= '9')
            split = text.find_first_not_of("0123456789", power);
    const auto amount_text = text.substr(0, split);
    const auto unit = split == text.npos ? std::string_view{} : trim(text.substr(split));
    double amount = 0;
    if (!read(amount_text, amount))
        return expected_but(kind, fmt::format("\"{}\"", text));
    std::int64_t scale = kind == Kind::size ? 1 : picoseconds_per_bare_number;
    if (!unit.empty()) {
        scale = 0;
        for (const auto& known : units_of(kind))
            if (unit == known.name)
                scale = known.scale;
        if (scale == 0) {
            std::string names;
            for (const auto& known : units_of(kind))
                names += fmt::format("{}{}", names.empty() ? "" : " ", known.name);
            return std::unexpected(
                fmt::format("has the unknown unit '{}'; the units are {}{}", unit, names, unit_hint(kind, unit)));
        }
    }
    std::int64_t whole = 0;
    if (!scaled(amount, scale, whole))
        return expected_but(kind, fmt::format("\"{}\"", text));
    return whole;
}

} // namespace

std::string_view name_of(Kind kind) {
    switch (kind) {
    case Kind::boolean: return "true or false";
    case Kind::integer: return "a whole number";
    case Kind::number: return "a number";
    case Kind::text: return "a text";
    case Kind::size: return "a size such as \"2 GiB\"";
    case Kind::time: return "nanoseconds or a time such as \"250 ns\"";
    }
    return "";
}

std::expected<Value, std::string> convert(Kind kind, const Value& written) {
    const auto* integer = std::get_if<std::int64_t>(&written);
    const auto* number = std::get_if<double>(&written);
    const auto* text = std::get_if<std::string>(&written);
    std::int64_t whole = 0;
    switch (kind) {
    case Kind::boolean:
        if (std::holds_alternative<bool>(written))
            return written;
        break;
    case Kind::integer:
        if (integer != nullptr)
            return written;
        break;
    case Kind::number:
        if (integer != nullptr)
            return static_cast<double>(*integer);
        if (number != nullptr && std::isfinite(*number))
            return written;
        break;
    case Kind::text:
        if (text != nullptr)
            return written;
        break;
    case Kind::size:
        if (integer != nullptr)
            return written;
        if (text != nullptr)
            return parse_quantity(kind, trim(*text));
        break;
    case Kind::time:
        if (integer != nullptr && scaled(static_cast<double>(*integer), picoseconds_per_bare_number, whole))
            return whole;
        if (number != nullptr && scaled(*number, picoseconds_per_bare_number, whole))
            return whole;
        if (text != nullptr)
            return parse_quantity(kind, trim(*text));
        break;
    }
    if (kind == Kind::boolean)
        return expected_but(kind, show(written) + std::string(boolean_hint(text != nullptr ? *text : show(written))));
    return expected_but(kind, show(written));
}

std::expected<Value, std::string> parse(Kind kind, std::string_view text) {
    const auto trimmed = trim(text);
    std::int64_t integer = 0;
    double number = 0;
    switch (kind) {
    case Kind::boolean:
        if (trimmed == "true" || trimmed == "false")
            return trimmed == "true";
        break;
    case Kind::integer:
        if (read(trimmed, integer))
            return integer;
        break;
    case Kind::number:
        if (read(trimmed, number) && std::isfinite(number))
            return number;
        break;
    case Kind::text: return std::string(text);
    case Kind::size:
    case Kind::time: return parse_quantity(kind, trimmed);
    }
    if (kind == Kind::boolean)
        return expected_but(kind, fmt::format("\"{}\"{}", trimmed, boolean_hint(trimmed)));
    return expected_but(kind, fmt::format("\"{}\"", trimmed));
}

std::string print(Kind kind, const Value& value) {
    if (kind == Kind::number)
        return fmt::format("{}", std::get<double>(value));
    if (kind == Kind::text)
        return std::get<std::string>(value);
    if (kind != Kind::size && kind != Kind::time)
        return show(value);
    const auto whole = std::get<std::int64_t>(value);
    auto best = units_of(kind).front();
    if (whole == 0)
        return kind == Kind::time ? "0 ns" : "0 B";
    for (const auto& unit : units_of(kind))
        if (whole % unit.scale == 0)
            best = unit;
    return fmt::format("{} {}", whole / best.scale, best.name);
}

std::string print(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        fmt::memory_buffer quoted; // the escapes of JSON are those of TOML, too
        observe::files::append_quoted(quoted, *text);
        return {quoted.data(), quoted.size()};
    }
    return show(value);
}

} // namespace platform::topology

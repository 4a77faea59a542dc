// Enumerations whose values have names: one list gives the enumerators, `name(value)` for logs and diagnostics, and
// `named(std::type_identity<E>{})`, the list itself, for tables and witnesses. It does not parse names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace abi {

/// A row of the list behind a named enumeration.
template <class E> struct Named {
    E value;
    std::string_view id;   ///< the enumerator
    std::string_view text; ///< what a reader of a log wants to see
};

} // namespace abi

// A type, an enumerator and a list of rows cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define ABI_ENUM_ROW_ENUMERATOR(id, value, text) id = value,
#define ABI_ENUM_ROW_CASE(id, value, text)                                                                             \
    case id: return text;
#define ABI_ENUM_ROW_NAMED(id, value, text) {id, #id, text},

/// Defines `enum class Type : Rep` from the list macro `ROWS(X)`, where each row is `X(enumerator, value, "text")`;
/// `name(Type)` returns the text, or an empty view for a value without a row.
#define ABI_NAMED_ENUM(Type, Rep, ROWS)                                                                                \
    enum class Type : Rep { ROWS(ABI_ENUM_ROW_ENUMERATOR) };                                                           \
    constexpr std::string_view name(Type value) {                                                                      \
        using enum Type;                                                                                               \
        switch (value) { ROWS(ABI_ENUM_ROW_CASE) }                                                                     \
        return {};                                                                                                     \
    }                                                                                                                  \
    constexpr auto named(std::type_identity<Type>) {                                                                   \
        using enum Type;                                                                                               \
        return std::to_array<::abi::Named<Type>>({ROWS(ABI_ENUM_ROW_NAMED)});                                          \
    }
// NOLINTEND(bugprone-macro-parentheses)

// The shape of the tables of explanations: a key and what is known of it.
#pragma once

#include "platform/observe/diagnostics/explanations.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace platform::observe::diagnostics {

template <class Key> struct Row {
    Key key;
    Explanation text;
};

template <class Key, std::size_t n>
constexpr const Explanation* find(const std::array<Row<Key>, n>& rows, std::type_identity_t<Key> key) {
    const auto row = std::ranges::find(rows, key, &Row<Key>::key);
    return row == rows.end() ? nullptr : &row->text;
}

/// Whether there is a row for each sentence of a table of traces/reason.h.
template <class Id, std::size_t n>
constexpr bool is_complete(const std::array<Row<Id>, n>& rows, std::size_t sentences) {
    for (std::size_t i = 0; i < sentences; ++i)
        if (find(rows, Id::numbered(i)) == nullptr)
            return false;
    return true;
}

} // namespace platform::observe::diagnostics

#include "traces/tool/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

namespace traces::tool {

namespace {

/// Takes the first word off; the rest begins behind the dot.
std::string_view take_word(std::string_view& text) {
    const auto dot = std::min(text.find('.'), text.size());
    const auto word = text.substr(0, dot);
    text.remove_prefix(std::min(dot + 1, text.size()));
    return word;
}
std::string_view last_word(std::string_view text) { return text.substr(text.rfind('.') + 1); }

/// "hca" and "hca0", not "hca10".
bool is_same(std::string_view one, std::string_view other) {
    const auto is_first_of = [](std::string_view numbered, std::string_view plain) {
        return numbered.size() == plain.size() + 1 && numbered.starts_with(plain) && numbered.ends_with('0') &&
               !plain.empty() && (plain.back() < '0' || plain.back() > '9');
    };
    return one == other || is_first_of(one, other) || is_first_of(other, one);
}

/// Whether these are words of `whole` in its order, the first of both being the same.
bool are_words_of(std::string_view some, std::string_view whole) {
    if (!is_same(take_word(some), take_word(whole)))
        return false;
    while (!some.empty()) {
        const auto word = take_word(some);
        bool is_there = false;
        while (!is_there && !whole.empty())
            is_there = is_same(word, take_word(whole));
        if (!is_there)
            return false;
    }
    return true;
}

} // namespace

bool is_called(std::string_view name, std::string_view wish) {
    if (name.contains(wish))
        return true;
    if (!wish.contains('.'))
        return false;
    return are_words_of(wish, name) || (is_same(last_word(name), last_word(wish)) && are_words_of(name, wish));
}

std::expected<void, std::string> has_name(const codec::Head& head, std::string_view wish) {
    if (wish.empty())
        return {};
    constexpr std::size_t most_names = 64;
    std::vector<std::string_view> all;
    for (const auto& interface : head.interfaces)
        all.push_back(interface.name);
    for (const auto& name : head.names)
        all.push_back(name);
    if (std::ranges::any_of(all, [&](std::string_view name) { return is_called(name, wish); }))
        return {};
    std::string there;
    for (const auto name : std::span(all).first(std::min(all.size(), most_names)))
        there.append(there.empty() ? "" : ", ").append(name);
    if (all.size() > most_names)
        there += fmt::format(", and {} more", all.size() - most_names);
    return std::unexpected(fmt::format("\"{}\" is nothing in the recording; it has {}", wish, there));
}

} // namespace traces::tool

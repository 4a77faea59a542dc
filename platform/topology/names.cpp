#include "platform/topology/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <numeric>
#include <ranges>

namespace platform::topology {
namespace {

using Error = std::unexpected<std::string>;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::expected<std::size_t, std::string> number_in(std::string_view text, std::string_view whole) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool has_leading_zero = text.size() > 1 && text.front() == '0'; // names made of it would not have it
    if (error != std::errc{} || end != text.data() + text.size() || has_leading_zero)
        return Error(fmt::format("'{}' is no range; write as in gpu0..3 or A..H", whole));
    return number;
}

Names too_many(std::string_view text) {
    return Error(fmt::format("'{}' stands for more than {} names", text, most_names));
}

} // namespace

std::string_view letters_of(std::string_view name) {
    while (!name.empty() && is_digit(name.back()))
        name.remove_suffix(1);
    return name;
}

bool is_name(std::string_view name) {
    return !name.empty() && is_letter(name.front()) &&
           std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; });
}

bool is_same_name(std::string_view one, std::string_view other) {
    if (one.size() == other.size())
        return one == other;
    const auto [shorter, longer] = std::minmax(one, other, [](auto a, auto b) { return a.size() < b.size(); });
    return shorter.size() + 1 == longer.size() && longer.ends_with('0') && longer.starts_with(shorter) &&
           letters_of(shorter) == shorter;
}

Names expand_name(std::string_view text) {
    const auto dots = text.find("..");
    const auto first = text.substr(0, dots);
    if (!is_name(first))
        return Error(fmt::format("'{}' is no name: letters, digits, '_' and '-', a letter first", text));
    if (first.size() > longest_name)
        return Error(fmt::format("'{}...' is a name of {} letters, more than {}", first.substr(0, 16), first.size(),
                                 longest_name));
    if (dots == text.npos)
        return std::vector{std::string(text)};
    const auto last = text.substr(dots + 2);
    std::vector<std::string> names;
    if (first.size() == 1 && last.size() == 1 && is_letter(last.front())) {
        const bool is_one_case = (std::isupper(static_cast<unsigned char>(first.front())) != 0) ==
                                 (std::isupper(static_cast<unsigned char>(last.front())) != 0);
        if (!is_one_case || last.front() < first.front())
            return Error(fmt::format("the range '{}' ends before it begins", text));
        for (char c = first.front(); c <= last.front(); ++c)
            names.emplace_back(1, c);
        return names;
    }
    const auto letters = letters_of(first);
    const auto begin = number_in(first.substr(letters.size()), text);
    const auto end = number_in(last, text);
    if (!begin || !end)
        return Error(begin ? end.error() : begin.error());
    if (*end < *begin)
        return Error(fmt::format("the range '{}' ends before it begins", text));
    if (*end - *begin >= most_names)
        return too_many(text);
    for (std::size_t i = 0; i <= *end - *begin; ++i) // the last number may be the highest that there is
        names.push_back(fmt::format("{}{}", letters, *begin + i));
    return names;
}

std::vector<std::string_view> split_path(std::string_view path) {
    std::vector<std::string_view> words;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i] != '.')
            continue;
        if (i + 1 < path.size() && path[i + 1] == '.') {
            ++i;
            continue;
        }
        words.push_back(path.substr(begin, i - begin));
        begin = i + 1;
    }
    words.push_back(path.substr(begin));
    return words;
}

std::vector<std::string_view> words_of(std::string_view list) {
    std::vector<std::string_view> words;
    for (const auto part : list | std::views::split(',')) {
        auto word = std::string_view(part.begin(), part.end());
        word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
        words.push_back(word.substr(0, word.find_last_not_of(' ') + 1));
    }
    return words;
}

Names expand_path(std::string_view path) {
    std::vector<std::vector<std::string>> words;
    std::size_t count = 1;
    for (const auto word : split_path(path)) {
        auto names = expand_name(word);
        if (!names)
            return names;
        count = std::max(count, names->size());
        words.push_back(std::move(*names));
    }
    for (const auto& names : words)
        if (count % names.size() != 0)
            return Error(fmt::format("the ranges of '{}' do not go together: {} names are not divided by {}", path,
                                     count, names.size()));
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < count; ++i) {
        auto& made = paths.emplace_back();
        for (const auto& names : words)
            made += (made.empty() ? "" : ".") + names[i * names.size() / count];
    }
    return paths;
}

Names expand_each(std::string_view path) {
    std::vector<std::string> paths{""};
    for (const auto word : split_path(path)) {
        const auto names = expand_name(word);
        if (!names)
            return names;
        if (paths.size() * names->size() > most_names)
            return too_many(path);
        std::vector<std::string> longer;
        for (const auto& begun : paths)
            for (const auto& name : *names)
                longer.push_back(begun.empty() ? name : begun + "." + name);
        paths = std::move(longer);
    }
    return paths;
}

std::size_t edit_distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        auto diagonal = row[0]++;
        for (std::size_t j = 0; j < to.size(); ++j) {
            const auto replaced = diagonal + (from[i] != to[j] ? 1 : 0);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
    std::string_view best;
    auto best_distance = std::numeric_limits<std::size_t>::max();
    const auto most = std::max<std::size_t>(2, name.size() / 3);
    for (const auto& candidate : known) {
        if (std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size()) > most)
            continue; // at least so many letters differ; to count them all would take long for a long name
        if (const auto distance = edit_distance(name, candidate); distance < best_distance)
            best_distance = distance, best = candidate;
    }
    return best_distance <= most && best_distance < name.size() ? fmt::format(", did you mean '{}'?", best)
                                                                : std::string{};
}

} // namespace platform::topology

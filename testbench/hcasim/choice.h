// An option whose value is one of some words.
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hcasim {

/// Processes at a time: what --jobs takes at most.
inline constexpr unsigned most_jobs = 1 << 16;

/// The help lists the words. CLI::Transformer lists what they stand for, too, and of an enum of one byte that is the
/// byte itself.
template <class Enum, std::size_t n>
CLI::Option* add_choice(CLI::App& command, const std::string& name, Enum& into,
                        const std::array<std::pair<std::string_view, Enum>, n>& choices, const std::string& what) {
    std::vector<std::string> words;
    for (const auto& [word, value] : choices)
        words.emplace_back(word);
    return command
        .add_option_function<std::string>(
            name,
            [&into, choices](const std::string& word) {
                into = std::ranges::find(choices, word, &std::pair<std::string_view, Enum>::first)->second;
            },
            what)
        ->type_name("WORD")
        ->check(CLI::IsMember(words));
}

} // namespace hcasim

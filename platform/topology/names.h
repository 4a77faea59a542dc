// Names in the description of a platform, and the short ways of writing many: "gpu0..3" for four, "A..H" for eight,
// "root0..3.sw0..3.gpu0..7" for eight paths. Knows no kinds and no parts.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace platform::topology {

/// The error says what is wrong with the text.
using Names = std::expected<std::vector<std::string>, std::string>;

/// As many names as one text may stand for.
constexpr std::size_t most_names = 4096;
/// A name becomes part of those of files and sockets, which are not longer than some hundred.
constexpr std::size_t longest_name = 64;

/// "gpu0..3": gpu0 to gpu3; "A..H": eight letters; any other name: itself.
Names expand_name(std::string_view text);

/// The words of "A..H.hca0": "A..H" and "hca0". Two dots in a row are a range and separate nothing.
std::vector<std::string_view> split_path(std::string_view path);

/// The words of a list: "A..D" and "E.hca1" of "A..D, E.hca1". Of an empty list there are none.
std::vector<std::string_view> words_of(std::string_view list);

/// Paths that a path with ranges stands for. The longest range counts; the others go with it in equal blocks, so that
/// "sw0..1.gpu0..3" is sw0.gpu0, sw0.gpu1, sw1.gpu2, sw1.gpu3.
Names expand_path(std::string_view path);

/// Each name of the first word with each of the second: "A..B.hca0..1" is A.hca0, A.hca1, B.hca0, B.hca1.
Names expand_each(std::string_view path);

/// "loss" of "link.loss".
constexpr std::string_view last_word(std::string_view path) { return path.substr(path.rfind('.') + 1); }

/// "hca" of "hca12".
std::string_view letters_of(std::string_view name);
/// Letters, digits, '_' and '-', a letter first.
bool is_name(std::string_view name);
/// Whether one may be written for the other: a number 0 may be left out, so "hca" and "hca0" are the same.
bool is_same_name(std::string_view one, std::string_view other);

/// By how many letters two texts differ: added, missing, another.
std::size_t edit_distance(std::string_view from, std::string_view to);
/// ", did you mean 'gpu0'?" of the nearest of `known`; empty when none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

} // namespace platform::topology

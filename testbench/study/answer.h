// What a study has found, as sentences with their numbers: the same for the terminal and the page.
#pragma once

#include "testbench/study/outcome.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace study {

/// One sentence each, the most important first.
std::vector<std::string> answer(const Study& study, std::span<const Outcome> outcomes);

/// For a terminal of so many columns; 0: any width.
std::string print_answer(const std::vector<std::string>& sentences, std::size_t width);

/// "12.35", with the digits that are worth showing.
std::string print_number(double value);
/// "1 point", "44 points"
std::string print_points(std::size_t count);

} // namespace study

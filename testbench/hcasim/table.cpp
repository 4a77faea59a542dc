#include "testbench/hcasim/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace hcasim {
namespace {

constexpr std::size_t gap = 2;

/// The first column, and those from `begin` to `end`.
std::string print_columns(const std::vector<std::vector<std::string>>& rows, const std::vector<std::size_t>& widths,
                          std::size_t begin, std::size_t end) {
    std::string text;
    for (const auto& row : rows) {
        auto line = row.empty() ? std::string() : fmt::format("  {:<{}}", row[0], widths[0]);
        for (std::size_t i = begin; i < std::min(end, row.size()); ++i)
            line += fmt::format("  {:>{}}", row[i], widths[i]);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

} // namespace

std::string print_table(const std::vector<std::vector<std::string>>& rows, std::size_t width) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    std::size_t begin = 1;
    do {
        auto end = begin;
        auto taken = widths.empty() ? 0 : gap + widths[0];
        while (end < widths.size() && (width == 0 || end == begin || taken + gap + widths[end] <= width))
            taken += gap + widths[end++];
        if (begin != 1)
            text += '\n';
        text += print_columns(rows, widths, begin, end);
        begin = end;
    } while (begin < widths.size());
    return text;
}

} // namespace hcasim

// A table as a person reads it. Pure: cells in, text out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hcasim {

/// Rows of cells, columns as wide as their widest cell; the first column stands left, the others right. What is wider
/// than `width` is broken into tables of some columns each, all with the first one; 0: any width.
std::string print_table(const std::vector<std::vector<std::string>>& rows, std::size_t width = 0);

} // namespace hcasim

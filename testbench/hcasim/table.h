// A table as a person reads it. Pure: cells in, text out.
#pragma once

#include <string>
#include <vector>

namespace hcasim {

/// Rows of cells, columns as wide as their widest cell; the first column stands left, the others right.
std::string print_table(const std::vector<std::vector<std::string>>& rows);

} // namespace hcasim

// The file of results that a project keeps under version control: what every machine gets alike, in an order that
// depends on nothing, a line a thing, so that a diff of it says what has changed.
#pragma once

#include "testbench/result/result_file.h"

#include <string>
#include <vector>

namespace hcasim {

/// Those of `fresh` in place of what the baseline had under their names, the others as they were.
std::vector<ResultFile> merge(std::vector<ResultFile> baseline, std::vector<ResultFile> fresh);

/// The text of the baseline.
std::string print_baseline(const std::vector<ResultFile>& results);

} // namespace hcasim

// What a comparison says to a person and to a CI system. Pure: differences in, text out.
#pragma once

#include "testbench/hcasim/report.h"
#include "testbench/result/comparison.h"

#include <span>
#include <string>

namespace hcasim {

/// Where the runs parted, which digests are equal, and each value that is not. `shows_all`: the equal ones, too, and
/// any number of lines.
std::string print_comparison(const RunComparison& comparison, const Look& look, bool shows_all);

/// As JUnit has it: a suite a run, a case for each thing that was compared, a failure where it differs, skipped where
/// a run of the baseline was not handed in. `seconds` since 1970.
std::string print_junit(std::span<const RunComparison> comparisons, std::int64_t seconds);

} // namespace hcasim

// What a load has done, for a person.
#pragma once

#include "testbench/hcasim/report.h"
#include "testbench/scenario/result.h"

#include <string>

namespace hcasim {

/// The sum, the slowest and the fastest flows, the intervals, and what was the bottleneck for how long.
std::string print_traffic(const scenario::Result& result, const Look& look = {});

/// Operations of an application, or commands of a drive: how many, how long, which bandwidths.
std::string print_operations(const scenario::Result& result, const Look& look = {});

} // namespace hcasim

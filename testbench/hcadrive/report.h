// What a drive says to a person, and to a program as JSON: as much of hcasim's report as drivers can know. Pure.
#pragma once

#include "testbench/scenario/result.h"

#include <string>

namespace hcadrive {

/// Transfers with their rates, totals, digests, the verdict.
std::string print_result(const scenario::Result& result);
/// One JSON object; its names are those of `hcasim run --json`.
std::string print_json(const scenario::Result& result);

} // namespace hcadrive

// The gpudirect workload on a platform of its own: elaborates it, runs the two programs as threads of the simulated
// hosts, and reads the counters afterwards.
#pragma once

#include "testbench/scenario/context.h"
#include "testbench/scenario/result.h"

#include <expected>
#include <string>

namespace scenario {

std::expected<Result, std::string> run_gpudirect(const Context& context);

} // namespace scenario

// The dmabuf scenario on a platform of its own: elaborates it, runs the two programs as threads of the simulated hosts,
// and counts, step by step, which way the payload took.
#pragma once

#include "testbench/scenario/context.h"
#include "testbench/scenario/result.h"

#include <expected>
#include <string>

namespace scenario {

std::expected<Result, std::string> run_dmabuf(const Context& context);

} // namespace scenario

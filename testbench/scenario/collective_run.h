// The scenarios allreduce, alltoall and parameter_server on a platform.
#pragma once

#include "testbench/scenario/context.h"

#include <expected>
#include <string>

namespace scenario {

std::expected<Result, std::string> run_collective(const Context& context);

} // namespace scenario

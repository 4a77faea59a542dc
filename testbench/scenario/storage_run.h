// The scenarios storage and checkpoint on a platform.
#pragma once

#include "testbench/scenario/context.h"

#include <expected>
#include <string>

namespace scenario {

std::expected<Result, std::string> run_storage(const Context& context);
std::expected<Result, std::string> run_checkpoint(const Context& context);

} // namespace scenario

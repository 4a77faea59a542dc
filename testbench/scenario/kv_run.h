// The scenario kv on a platform.
#pragma once

#include "testbench/scenario/context.h"

#include <expected>
#include <string>

namespace scenario {

std::expected<Result, std::string> run_kv(const Context& context);

} // namespace scenario

// The scenario `traffic` on a platform: messages between its HCAs as [traffic] has them.
#pragma once

#include "testbench/scenario/context.h"

#include <expected>
#include <string>

namespace scenario {

std::expected<Result, std::string> run_traffic(const Context& context);

} // namespace scenario

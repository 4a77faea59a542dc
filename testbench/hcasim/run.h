// One run of the program: configuration and payload in, report and files out. Observers are made and bound here; the
// platform is the scenario's.
#pragma once

#include "testbench/hcasim/command_line.h"
#include "testbench/scenario/registry.h"

#include <span>

namespace hcasim {

/// Returns the exit status: 0 verified, 1 ran and is not verified, 2 refused before it ran or a file could not be
/// written. Prints to standard output; a refusal is one line on standard error.
int run(const RunOptions& options, std::span<const scenario::Scenario> scenarios = scenario::scenarios());

} // namespace hcasim

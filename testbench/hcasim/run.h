// One run of the program: configuration and payload in, report and files out; and what it says of a configuration
// without running it. Observers are made and bound here; the platform is the scenario's.
#pragma once

#include "platform/topology/effect.h"
#include "testbench/hcasim/command_line.h"
#include "testbench/scenario/registry.h"

#include <expected>
#include <span>
#include <string>

namespace hcasim {

/// Returns the exit status (status.h). Prints to standard output, or to standard error when that is where the result
/// goes; a refusal is a line on standard error for each thing that is wrong. No file is opened for writing before all
/// of them are known to be apart, and none appears before it is complete. SIGINT and SIGTERM end the run with a partial
/// report.
int run(const RunOptions& options, std::span<const scenario::Scenario> scenarios = scenario::scenarios());

/// Whether a run would begin.
int check(const PlanOptions& options, std::span<const scenario::Scenario> scenarios = scenario::scenarios());

/// The same without a word to anybody: why it would not, as `run` says it.
std::expected<void, std::string> may_begin(const PlanOptions& options,
                                           std::span<const scenario::Scenario> scenarios = scenario::scenarios());

/// A line for each key that somebody has set and that nothing looks at.
std::string print_idle(std::span<const platform::topology::IdleKey> idle);

/// The configuration with every key, as a configuration.
int print_config(const PlanOptions& options);

} // namespace hcasim

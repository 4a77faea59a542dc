// The options of `hcasim trace reduce`.
#pragma once

#include "testbench/hcasim/reduce.h"
#include "testbench/hcasim/trace.h"

namespace hcasim {

/// `make` is for tests that stand between a device and its ports.
void add_reduce(CLI::App& trace, TraceJob& job, const MakeFor& make);

} // namespace hcasim

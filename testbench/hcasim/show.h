// `hcasim show`: a configuration as a picture. Runs nothing.
#pragma once

#include "testbench/hcasim/command_line.h"

namespace hcasim {

/// Returns the exit status (status.h).
int show(const ShowOptions& options);

} // namespace hcasim

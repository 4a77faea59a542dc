// `hcasim show`: a configuration as a picture. Runs nothing.
#pragma once

#include "platform/topology/config.h"
#include "testbench/hcasim/command_line.h"

#include <string>

namespace hcasim {

/// Why a platform can be drawn and not built; empty: it can be built.
std::string why_not_built(const platform::topology::Config& config);

/// Returns the exit status (status.h).
int show(const ShowOptions& options);

} // namespace hcasim

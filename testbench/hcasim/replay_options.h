// The options of `hcasim replay`.
#pragma once

#include "testbench/hcasim/replay.h"

namespace CLI {
class App;
}

namespace hcasim {

/// `options` gets what is said; it outlives the parsing.
void add_replay(CLI::App& replay, ReplayOptions& options);

} // namespace hcasim

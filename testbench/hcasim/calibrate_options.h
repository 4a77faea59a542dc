// The options of `hcasim calibrate`.
#pragma once

#include "testbench/hcasim/calibrate.h"

namespace CLI {
class App;
}

namespace hcasim {

/// `options` gets what is said; it outlives the parsing.
void add_calibrate(CLI::App& calibrate, CalibrateOptions& options);

} // namespace hcasim

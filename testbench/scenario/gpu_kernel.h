// The command processor of a simulated GPU: launches a grid and lets it go on whenever something of it is due.
#pragma once

#include "model/gpu/wave/grid.h"

namespace scenario {

/// Called by a thread of the simulation; returns when the grid is over.
void run_grid(model::gpu::wave::Grid& grid);

} // namespace scenario

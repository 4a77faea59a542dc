// The command processor of a simulated GPU: launches a grid and lets it go on whenever something of it is due.
#pragma once

#include "model/gpu/wave/grid.h"

#include <span>

namespace scenario {

/// Called by a thread of the simulation; returns when the grid is over.
void run_grid(model::gpu::wave::Grid& grid);
/// Several of them, on GPUs of their own, at the same time.
void run_grids(std::span<model::gpu::wave::Grid* const> grids);

} // namespace scenario

// The command processor of a simulated GPU: launches a grid and lets it go on whenever something of it is due.
#pragma once

#include "model/gpu/graphics_block.h"
#include "model/gpu/wave/grid.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace scenario {

/// What was against a program: for whoever asks what its fences are there for.
struct Resistance {
    std::uint64_t overtakes = 0;   ///< stores that reached memory before an older one of their thread
    std::uint64_t upper_hits = 0;  ///< loads that GL0 or GL1 answered
    std::uint64_t early_loads = 0; ///< that were done before the poll in front of them
    std::uint64_t gl2_hits = 0;

    Resistance& operator+=(const Resistance& other) {
        overtakes += other.overtakes, upper_hits += other.upper_hits, early_loads += other.early_loads,
            gl2_hits += other.gl2_hits;
        return *this;
    }
};
/// That of a grid that is over, whose GPU has run nothing else.
Resistance resistance(const model::gpu::wave::Grid& grid, const model::gpu::GraphicsBlock& block);

/// Memory as waves on a few CUs of a GPU see it, in one address space.
class Views {
public:
    Views(model::gpu::GraphicsBlock& block, unsigned vmid);
    std::vector<model::gpu::memory::MemoryView*> pointers() const;

private:
    std::vector<std::unique_ptr<model::gpu::memory::MemoryView>> views_;
};

/// Called by a thread of the simulation; returns when the grid is over.
void run_grid(model::gpu::wave::Grid& grid);
/// Several of them, on GPUs of their own, at the same time.
void run_grids(std::span<model::gpu::wave::Grid* const> grids);

} // namespace scenario

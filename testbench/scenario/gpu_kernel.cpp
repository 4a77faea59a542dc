#include "testbench/scenario/gpu_kernel.h"

#include "model/tlm/time.h"

#include <algorithm>
#include <array>

namespace scenario {

using model::gpu::wave::Grid;
using model::tlm::kernel_now;

namespace {
constexpr unsigned units = 4; ///< CUs that waves are dealt to
} // namespace

Views::Views(model::gpu::GraphicsBlock& block, unsigned vmid) {
    for (unsigned unit = 0; unit < std::min(units, block.units()); ++unit)
        views_.push_back(block.make_view(unit, vmid));
}

std::vector<model::gpu::memory::MemoryView*> Views::pointers() const {
    std::vector<model::gpu::memory::MemoryView*> all;
    for (const auto& view : views_)
        all.push_back(view.get());
    return all;
}

Resistance resistance(const Grid& grid, const model::gpu::GraphicsBlock& block) {
    using model::gpu::memory::Level;
    const auto& counters = block.counters();
    return {.overtakes = grid.overtakes(),
            .upper_hits = counters.loads_from(Level::gl0) + counters.loads_from(Level::gl1),
            .early_loads = grid.order().early_loads(),
            .gl2_hits = counters.loads_from(Level::gl2)};
}

void run_grid(Grid& grid) {
    const std::array one{&grid};
    run_grids(one);
}

void run_grids(std::span<Grid* const> grids) {
    sc_core::sc_event earlier; // than was expected: memory has changed under a thread that waits for that
    for (auto* grid : grids) {
        grid->set_alarm([&] { model::tlm::notify_now(earlier); });
        grid->launch(kernel_now());
    }
    for (;;) {
        auto due = model::port::never;
        for (const auto* grid : grids)
            due = std::min(due, grid->next_due()); // never, of one that is over
        if (due == model::port::never)
            break;
        if (const auto now = kernel_now(); due > now)
            sc_core::wait(model::tlm::to_sc(due - now), earlier);
        for (auto* grid : grids)
            grid->run(kernel_now());
    }
    for (auto* grid : grids) {
        grid->set_alarm({});
        if (const auto now = kernel_now(); grid->ended_at() > now)
            sc_core::wait(model::tlm::to_sc(grid->ended_at() - now));
    }
}

} // namespace scenario

#include "testbench/scenario/gpu_kernel.h"

#include "model/tlm/time.h"

namespace scenario {

using model::tlm::kernel_now;

void run_grid(model::gpu::wave::Grid& grid) {
    const auto wait_until = [](model::port::Time time) {
        if (const auto now = kernel_now(); time > now)
            sc_core::wait(model::tlm::to_sc(time - now));
    };
    grid.launch(kernel_now());
    while (!grid.is_over()) {
        wait_until(grid.next_due());
        grid.run(kernel_now());
    }
    wait_until(grid.ended_at());
}

} // namespace scenario

#include "testbench/harness/page_service.h"

#include "model/tlm/time.h"
#include "sw/mlx/memory/pager.h"

#include <chrono>

namespace harness {

PageService::PageService(sw::mlx::Device& device) : device_(device) {
    sc_core::sc_spawn_options options;
    options.set_stack_size(1 << 20);
    sc_core::sc_spawn(
        [this] {
            while (!is_stopping_)
                device_.pager()->wait(std::chrono::milliseconds{1});
            is_over_ = true;
            model::tlm::notify_now(over_);
        },
        sc_core::sc_gen_unique_name("pages"), &options);
}

PageService::~PageService() {
    is_stopping_ = true;
    while (!is_over_)
        sc_core::wait(over_);
}

} // namespace harness

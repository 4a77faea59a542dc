#include "testbench/workload/checkpoint_plan.h"

#include <algorithm>

namespace workload {

void plan_routes(CheckpointPlan& plan) {
    for (std::size_t rank = 0; rank < plan.drives.users; ++rank)
        add_route(plan.drives, rank, rank % plan.drives.targets, rank / plan.drives.targets * plan.blocks(),
                  plan.blocks());
}

std::vector<std::uint64_t> sample_of(std::uint64_t commands, std::uint64_t most) {
    std::vector<std::uint64_t> sample;
    const auto count = std::min(commands, most);
    for (std::uint64_t i = 0; i < count; ++i)
        sample.push_back(count == 1 ? 0 : i * (commands - 1) / (count - 1));
    return sample;
}

} // namespace workload

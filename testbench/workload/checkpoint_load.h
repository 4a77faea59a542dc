// Ranks that write their state to drives of other hosts, again and again, on a platform.
#pragma once

#include "testbench/workload/checkpoint_plan.h"
#include "testbench/workload/drive_stage.h"

#include <cstddef>

namespace workload {

/// What ranks know of the checkpoint that they make together.
struct CheckpointState {
    bool goes_on = true;       ///< there is another one
    model::port::Time begun{}; ///< when all ranks had come
    std::size_t done = 0;      ///< ranks whose state is durable
};

class CheckpointLoad final : public DriveStage {
public:
    CheckpointLoad(platform::topology::Platform& platform, const CheckpointPlan& plan, load::Ledger& ledger)
        : DriveStage(platform, plan.drives, ledger), plan_(plan) {}

private:
    /// In VRAM where there is some.
    Needs needs_of(std::size_t user) const override {
        return {.bytes = plan_.bytes, .is_vram = plan_.drives.load.nodes[user].gpu.has_value()};
    }
    void use(std::size_t user, DriveUser& drives) override;

    const CheckpointPlan& plan_;
    CheckpointState state_;
};

} // namespace workload

// Checkpoints as a plan: ranks write their state to drives, all at the same time. Holds no simulation.
#pragma once

#include "testbench/workload/drive_plan.h"

#include <cstdint>
#include <vector>

namespace workload {

struct CheckpointPlan {
    DrivePlan
        drives{}; ///< its users are the ranks; a command has drives.command_bytes, the last one of a rank the rest
    std::uint64_t bytes = 0; ///< of the state of a rank, whole blocks

    std::uint64_t blocks() const { return bytes / drive_block_bytes; }
    /// The commands that write the state of a rank.
    std::uint64_t commands() const { return (bytes + drives.command_bytes - 1) / drives.command_bytes; }
};

/// Rank i writes to target i modulo their number, behind those that do so before it.
void plan_routes(CheckpointPlan& plan);

/// Commands whose blocks are read back: no more than `most`, evenly over all, the first and the last among them.
std::vector<std::uint64_t> sample_of(std::uint64_t commands, std::uint64_t most);

} // namespace workload

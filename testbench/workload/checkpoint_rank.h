// A rank of checkpoints: writes its state, one Write behind the other, and has it flushed; when the last checkpoint is
// done, reads a part of it back and compares. The body of a thread of the simulation.
#pragma once

#include "testbench/workload/checkpoint_load.h"

#include <cstdint>

namespace workload {

class CheckpointRank {
public:
    CheckpointRank(const CheckpointPlan& plan, CheckpointState& state, DriveUser& drives, DriveShared& shared);
    void run();

private:
    void write();
    void read_back();
    /// Of all of them in that order; returns when they have ended.
    void carry_out(bool is_write, const std::vector<std::uint64_t>& commands);
    BlockRange blocks_of(std::uint64_t command) const;
    BlockRange all() const { return {0, static_cast<std::uint32_t>(plan_.blocks())}; }

    const CheckpointPlan& plan_;
    CheckpointState& state_;
    DriveUser& drives_;
    DriveShared& shared_;
    DrivePart part_;
};

} // namespace workload

#include "testbench/workload/checkpoint_load.h"

#include "testbench/workload/checkpoint_rank.h"

namespace workload {

void CheckpointLoad::use(std::size_t, DriveUser& drives) { CheckpointRank(plan_, state_, drives, shared()).run(); }

} // namespace workload

// The coherence laboratory: the same program under other page types, loads and flushes, each row with the outcome that
// it must have under each profile and the observation of the article that it repeats. Rows and observations are those
// of the facts that the model was made from (L1 to L17, O1 to O16, P1 to P5).
#pragma once

#include "testbench/scenario/gpu_nvme.h"
#include "testbench/scenario/result.h"

#include <functional>
#include <string_view>
#include <vector>

namespace scenario {

/// Called before each row.
using Tell = std::function<void(std::string_view row, std::uint64_t done, std::uint64_t total)>;

/// Every row of the table, and every observation of how buffers are shared. A row that a stopped run has not reached is
/// not among them.
sw::Result<std::vector<Observation>> run_laboratory(GpuNvme& rig, Flusher& flusher, const Tell& tell);

} // namespace scenario

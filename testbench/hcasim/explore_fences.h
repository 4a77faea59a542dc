// `hcasim explore gpu_nvme`, `gpu_rdma` or `gpu`: runs programs of a GPU (scenario/gpu_fences.h) with nothing left out,
// and with each of their fences and flushes left out, under many interleavings. Prints under which of them it fails,
// and for the first one the command that shows it again; and of what never fails, why that may be.
#pragma once

#include "testbench/hcasim/explore.h"

#include <span>
#include <string>

namespace hcasim {

/// Whether these are programs of a GPU, and no transfers.
bool are_gpu_programs(std::span<const std::string> names);

/// Exit status: 0 with nothing left out no program has failed, 1 one has, or the one interleaving that was asked for,
/// 2 refused, 4 as 0, but what a fence or flush is against was met under no interleaving.
int explore_fences(const ExploreOptions& options);

} // namespace hcasim

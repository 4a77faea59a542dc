// The scenario `gpu_rdma` on a platform: the first GPU with caches and the first HCA of each host, in a ring.
#pragma once

#include "testbench/scenario/registry.h"

#include <cstdint>
#include <expected>
#include <string>

namespace scenario {

/// Two simulated hosts or more have a GPU of kind caching_gpu and an HCA each.
std::expected<void, std::string> gpu_rdma_fits(const platform::topology::Config& config, std::uint64_t payload_bytes);
std::expected<Result, std::string> run_gpu_rdma(const Context& context);

} // namespace scenario

// The keys of [collective] as a plan of a collective operation, or why they are none; decided before anything is built.
#pragma once

#include "platform/topology/config.h"
#include "testbench/workload/collective_plan.h"

#include <cstdint>
#include <expected>
#include <string>

namespace scenario {

/// Of the scenarios allreduce, alltoall and parameter_server. The error is one line for a person.
std::expected<workload::CollectivePlan, std::string> plan_collective(const platform::topology::Config& config);

std::expected<void, std::string> collective_fits(const platform::topology::Config& config, std::uint64_t payload_bytes);

} // namespace scenario

// The keys of [storage] and of [checkpoint] as plans of who uses which drives, or why they are none; decided before
// anything is built.
#pragma once

#include "platform/topology/config.h"
#include "testbench/workload/checkpoint_plan.h"
#include "testbench/workload/storage_plan.h"

#include <cstdint>
#include <expected>
#include <string>

namespace scenario {

/// The error is one line for a person.
std::expected<workload::StoragePlan, std::string> plan_storage(const platform::topology::Config& config);
std::expected<workload::CheckpointPlan, std::string> plan_checkpoint(const platform::topology::Config& config);

std::expected<void, std::string> storage_fits(const platform::topology::Config& config, std::uint64_t payload_bytes);
std::expected<void, std::string> checkpoint_fits(const platform::topology::Config& config, std::uint64_t payload_bytes);

} // namespace scenario

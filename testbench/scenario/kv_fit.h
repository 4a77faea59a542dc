// The keys of [kv] as a plan of clients and servers, or why they are none; decided before anything is built.
#pragma once

#include "platform/topology/config.h"
#include "testbench/workload/kv_plan.h"

#include <cstdint>
#include <expected>
#include <string>

namespace scenario {

/// The error is one line for a person.
std::expected<workload::KvPlan, std::string> plan_kv(const platform::topology::Config& config);

std::expected<void, std::string> kv_fits(const platform::topology::Config& config, std::uint64_t payload_bytes);

} // namespace scenario

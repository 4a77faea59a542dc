// The keys of [traffic] as a plan of who sends what to whom, or why they are none; decided before anything is built.
#pragma once

#include "platform/topology/config.h"
#include "testbench/load/plan.h"

#include <cstdint>
#include <expected>
#include <string>

namespace scenario {

/// The error is one line for a person: "traffic.toml:12: 'traffic.sizes' = 4 KB: ...".
std::expected<load::Plan, std::string> plan_traffic(const platform::topology::Config& config);

std::expected<void, std::string> traffic_fits(const platform::topology::Config& config, std::uint64_t payload_bytes);

} // namespace scenario

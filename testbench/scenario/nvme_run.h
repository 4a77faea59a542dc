// The scenario `nvme` on a platform: its first drive, and a program on the drive's host.
#pragma once

#include "testbench/scenario/registry.h"

#include <cstdint>
#include <expected>
#include <string>

namespace scenario {

/// There is a drive, of a host that is simulated.
std::expected<void, std::string> nvme_fits(const platform::topology::Config& config, std::uint64_t payload_bytes);
std::expected<Result, std::string> run_nvme(const Context& context);

} // namespace scenario

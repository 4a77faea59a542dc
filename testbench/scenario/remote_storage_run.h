// The scenario `remote_storage` on a platform: a host with an HCA and a drive, and another one with an HCA.
#pragma once

#include "testbench/scenario/context.h"

#include <cstdint>
#include <expected>
#include <string>

namespace scenario {

std::expected<void, std::string> remote_storage_fits(const platform::topology::Config& config,
                                                     std::uint64_t payload_bytes);
std::expected<Result, std::string> run_remote_storage(const Context& context);

} // namespace scenario

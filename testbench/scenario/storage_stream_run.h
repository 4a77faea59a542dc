// The scenario `storage_stream` on a platform: two hosts that have a GPU, an HCA and a drive each.
#pragma once

#include "testbench/scenario/context.h"

#include <cstdint>
#include <expected>
#include <string>

namespace scenario {

std::expected<void, std::string> storage_stream_fits(const platform::topology::Config& config,
                                                     std::uint64_t payload_bytes);
std::expected<Result, std::string> run_storage_stream(const Context& context);

} // namespace scenario

// Whether a configuration can carry the dma-buf scenario, as gpudirect_fit does for the other one.
#pragma once

#include "platform/topology/config.h"

#include <expected>
#include <string>

namespace scenario {

/// A refusal is one line with the reason and what to change.
std::expected<void, std::string> dmabuf_fits(const platform::topology::Config& config);

} // namespace scenario

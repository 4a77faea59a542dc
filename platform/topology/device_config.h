// From a part of a description to the device that the table of kinds makes of it: with what the platform as a whole
// decides of it.
#pragma once

#include "platform/card/kinds.h"
#include "platform/topology/description.h"

namespace platform::topology {

/// `part` is a card of what `config` describes.
card::DeviceConfig device_config(const Config& config, const Part& part);

} // namespace platform::topology

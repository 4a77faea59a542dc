// What an HCA holds for its driver at a moment, as a line: a driver that has unloaded, or a reset, leaves nothing.
// Reads the firmware's accounts and the core's tables; changes nothing.
#pragma once

#include "firmware/device.h"

#include <string>

namespace hcasim {

/// "nothing", or "3 event queues, 6144 memory keys, ...". An object whose number and whose place disagree shows as the
/// larger count: either one would be a leak.
std::string print_holdings(const firmware::Device& device);

} // namespace hcasim

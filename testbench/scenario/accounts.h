// What the resources of devices have counted (model/time), as rows of a Result.
#pragma once

#include "model/time/usage.h"
#include "testbench/scenario/result.h"

#include <span>
#include <string>

namespace scenario {

/// The resources of one device after `elapsed` of simulated time: caches beside the other caches, the rest as
/// resources, and what held the device back. Nothing of a device whose resources nobody has used.
void add_accounts(const std::string& device, std::span<const model::time::Account> accounts, model::port::Time elapsed,
                  Result& result);

} // namespace scenario

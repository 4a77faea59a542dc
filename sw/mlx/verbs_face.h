// This driver behind the face of the verbs that all drivers have (sw/verbs/verbs.h). Thin: queue pairs and completion
// queues are the driver's own, so that posting and polling cost a virtual call and no more.
#pragma once

#include "sw/base/result.h"
#include "sw/mlx/device/device.h"
#include "sw/verbs/verbs.h"

#include <memory>

namespace sw::mlx {

/// Takes the device behind `transport` from reset to ready.
Result<std::unique_ptr<verbs::Context>> open_verbs(transport::Transport& transport, DeviceOptions options = {});

} // namespace sw::mlx

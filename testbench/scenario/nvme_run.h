// The scenario `nvme` on a platform: its first drive, and a program on the drive's host.
#pragma once

#include "platform/topology/description.h"
#include "testbench/scenario/context.h"

#include <cstdint>
#include <expected>
#include <string>

namespace scenario {

/// Whether the first namespace of a drive is large enough for a payload, which goes there.
std::expected<void, std::string> payload_fits_drive(const platform::topology::Description& described,
                                                    const platform::topology::PartAt& drive,
                                                    std::uint64_t payload_bytes);
/// There is a drive, of a host that is simulated.
std::expected<void, std::string> nvme_fits(const platform::topology::Config& config, std::uint64_t payload_bytes);
std::expected<Result, std::string> run_nvme(const Context& context);

} // namespace scenario

// Whether a configuration can carry the GPUDirect workload: what follows from several keys together, found before
// anything is built. Takes the configuration and the payload's size; a refusal is one line with the reason and what to
// change.
#pragma once

#include "platform/topology/description.h"
#include "testbench/scenario/roles.h"

#include <cstdint>
#include <expected>
#include <string>

namespace scenario {

/// Messages of one pass over the payload: more would take minutes, each is simulated from its WQE to its completion.
inline constexpr std::uint64_t max_messages = 1 << 22;

std::expected<void, std::string> fits(const platform::topology::Config& config, std::uint64_t payload_bytes);

/// The same as far as the queues of both programs go; 0 bytes: whatever they move.
std::expected<void, std::string> queues_fit(const platform::topology::Config& config,
                                            const platform::topology::Description& platform, const Roles& roles,
                                            std::uint64_t payload_bytes = 0);

} // namespace scenario

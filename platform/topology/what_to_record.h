// What of a platform is to be recorded, by the names that people give: parts, their network ports, events.
#pragma once

#include "platform/record/recording.h"
#include "platform/topology/description.h"

#include <expected>
#include <span>
#include <string>
#include <vector>

namespace platform::topology {

struct Recorded {
    std::vector<record::Subject> subjects; ///< in the order of the platform
    bool has_events = false;
};

/// Each wish is "all", "events", a part ("A.hca0", with as much of its path as somebody likes) or a network port of one
/// ("A.hca0.port1"); no wish is all. The error is one line, with the names that there are.
std::expected<Recorded, std::string> choose_recorded(const Description& description,
                                                     std::span<const std::string> wanted);

} // namespace platform::topology

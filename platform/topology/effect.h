// Which keys of a configuration change nothing, given the others: a seed where nothing is left to chance, a switch's
// latency without a switch. What nobody has set, and what was set to its default, is none of them.
#pragma once

#include "platform/topology/config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace platform::topology {

struct IdleKey {
    std::string path;
    std::string where; ///< it was set: "p2p.toml:12", "--set"
    std::string why;   ///< "link.reorder = 0"
};

/// Who uses the platform.
enum class Work : std::uint8_t { of_scenario, of_drivers };

/// In the order in which they were set.
std::vector<IdleKey> idle_keys(const Config& config, Work work = Work::of_scenario);

} // namespace platform::topology

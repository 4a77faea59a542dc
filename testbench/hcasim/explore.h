// `hcasim explore SCENARIO`: runs a race (scenario/race.h) without its action and counts the points, then once for each
// point with the action there, each in a process of its own, as many at a time as there are processors. Prints a table,
// and for each violation the command that shows it again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hcasim {

struct ExploreOptions {
    std::vector<std::string> operations, actions, victims;
    std::vector<std::string> overrides; ///< "key=value"
    std::uint32_t bytes = 20000;
    std::uint64_t every = 1;         ///< only each so-many-th point
    std::optional<std::uint64_t> at; ///< one point, told in full
    unsigned jobs = 0;               ///< processes at a time; 0: one a processor
    std::string plant;               ///< a mistake on purpose
    bool has_alike_owner = false;    ///< the next owner's bytes are those of the transfer
};

/// Exit status: 0 no violation, 1 some, 2 refused.
int explore(const ExploreOptions& options);

} // namespace hcasim

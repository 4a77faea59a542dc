// `hcasim explore SCENARIO`: in each world of a sweep (explore_sweep.h) runs a race (scenario/race.h) without its
// actions and counts the points, then with the actions at points of it, each time in a process of its own, as many at a
// time as there are processors. Prints how often the actions came into a transfer under way, and for each violation the
// command that shows it again.
#pragma once

#include "testbench/hcasim/explore_sweep.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hcasim {

struct ExploreOptions {
    std::vector<std::string> operations, actions, victims; ///< of actions, also two at once: "revoke+death"
    std::vector<std::string> overrides;                    ///< "key=value"
    Sweep sweep = Sweep::all;
    unsigned importers = 0;          ///< registrations of the memory; 0: one, and in some variants two
    std::uint32_t bytes = 20000;     ///< of a message
    std::uint64_t points = 12;       ///< of each row and variant
    std::uint64_t every = 0;         ///< each so-many-th point instead
    std::optional<std::uint64_t> at; ///< one point, told in full
    bool is_late = false;            ///< with it: at the time that the event has
    unsigned jobs = 0;               ///< processes at a time; 0: one a processor
    std::string plant;               ///< a mistake on purpose
    bool is_monitored = false;       ///< each run is held against the rules of the specifications
    std::string record;              ///< file for the first run with a violation; empty: none
    bool has_alike_owner = false;    ///< the next owner's bytes are those of the transfer
};

/// Exit status: 0 no violation, 1 some, 2 refused, 4 none, but in some row and variant no action met a transfer.
int explore(const ExploreOptions& options);

} // namespace hcasim

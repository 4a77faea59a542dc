// What a run says to a program: one JSON object, described by result.schema.json. Pure: values in, text out.
#pragma once

#include "platform/observe/count/counters.h"
#include "platform/observe/count/digests.h"
#include "platform/topology/config.h"
#include "platform/topology/effect.h"
#include "testbench/scenario/result.h"

#include <span>
#include <string>

namespace hcasim {

struct RunFacts {
    const scenario::Result& result;
    const platform::observe::count::Counters& counters;
    const platform::observe::count::Digests& digests;
    const platform::observe::Sources& sources; ///< the names of those that the digests are of
    const platform::topology::Config& config;
    std::span<const platform::topology::IdleKey> idle{}; ///< keys that were set in vain
    std::string payload{};                               ///< path; empty: none
};

/// The program, the result, the counts of events by type and reason, the effective configuration with numbers as
/// numbers.
std::string print_json(const RunFacts& facts);

} // namespace hcasim

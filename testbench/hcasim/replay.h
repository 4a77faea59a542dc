// `hcasim replay TRACE...`: each recorded device alone on a bench, driven by its recording and compared with it. Each
// is played in a process of its own, several at a time: a model that has changed may end by an assertion, and that is
// then told of its trace alone.
#pragma once

#include "testbench/hcasim/replay_bench.h"

#include <string>
#include <vector>

namespace hcasim {

struct ReplayOptions {
    std::vector<std::string> traces;
    ReplayMode mode = ReplayMode::strict;
    std::vector<std::string> overrides{}; ///< "key=value"
    std::vector<std::string> parts{};     ///< names of those that are played; none: all
    std::string json{};                   ///< file to write; "-": standard output; empty: none
    unsigned jobs = 0;                    ///< processes at a time; 0: one a processor
};

/// Returns the exit status. `make` is for tests that stand between a device and its ports.
int replay(const ReplayOptions& options, const MakeRecorded& make = make_recorded);

} // namespace hcasim

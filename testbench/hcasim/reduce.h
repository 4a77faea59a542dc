// `hcasim trace reduce`: a small recording in which a device differs from what was recorded in the same way as in a
// large one.
#pragma once

#include "platform/record/reduce.h"
#include "testbench/hcasim/replay.h"
#include "traces/tool/why.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace hcasim {

struct ReduceOptions {
    std::string trace, out;
    ReplayMode mode = ReplayMode::untimed;
    std::vector<std::string> overrides{}; ///< "key=value"
    std::string part{};                   ///< name of the device; empty: the first one that differs
    std::chrono::milliseconds budget{60'000};
};

/// Gives what makes devices for a trace that is played: the whole one, then smaller and smaller ones.
using MakeFor = std::function<MakeRecorded(const traces::tool::OpenTrace& played, const RecordedPart& part)>;

/// Returns the exit status. `make` is for tests that stand between a device and its ports.
int reduce(const ReduceOptions& options, const MakeFor& make = {});

/// What was to come, or else the call in the course of which something came.
std::uint64_t record_of(const platform::record::Divergence& divergence);
/// The same in words, where that record has this number.
std::string where(const platform::record::Divergence& divergence, std::uint64_t record);

/// Class and field of a divergence: it is the same one where the text is the same.
std::string sameness(const platform::record::Divergence& divergence);

} // namespace hcasim

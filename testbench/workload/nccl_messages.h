// Operations of NCCL as messages between hosts, in the form that traffic.replay takes: by rings and chains, as NCCL's
// own ring algorithm has them, in pieces of at most 512 KiB (a buffer of 4 MiB in 8 steps, its default).
//
// A log says when nothing happened. An operation begins when its ranks have ended the one before and `gap` has passed;
// its steps come at the rate given. So a replay is an open loop: it shows what a fabric does with that work at that
// speed, and not how long an application would have waited.
#pragma once

#include "model/port/time.h"
#include "testbench/workload/nccl_log.h"

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

namespace workload {

struct NcclPace {
    double gbps = 100;                                    ///< of each rank
    model::port::Time hop = std::chrono::microseconds{5}; ///< from one rank to the next, beside its bytes
    model::port::Time gap{};                              ///< between operations
};

/// Told each message, with places of ranks. What stays on a host (`names` are equal) is left out.
using TakeMessage =
    std::function<void(model::port::Time at, std::uint32_t from, std::uint32_t to, std::uint64_t bytes)>;

/// `names` by rank. The error says that they are too few, or that the messages are more than anybody replays.
std::expected<void, std::string> expand_nccl(const NcclLog& log, const std::vector<std::string>& names,
                                             const NcclPace& pace, const TakeMessage& take);

} // namespace workload

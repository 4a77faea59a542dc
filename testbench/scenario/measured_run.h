// A load on a platform, measured: what the runs of traffic and of workloads have in common.
#pragma once

#include "platform/topology/platform_module.h"
#include "testbench/load/ledger.h"
#include "testbench/load/plan.h"
#include "testbench/load/stage.h"
#include "testbench/scenario/context.h"

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace scenario {

using MakeLoad =
    std::function<std::unique_ptr<load::Stage>(platform::topology::Platform& platform, load::Ledger& ledger)>;

/// What a run of that kind adds to its result.
using FinishResult = std::function<void(const load::Stage& load, Result& result)>;

/// Builds the platform, lets the load run on it, and says what came of it: flows, intervals, operations, counters. The
/// plan lives longer than the load. `what`: of which there is progress, "messages". `finish` may be empty.
std::expected<Result, std::string> run_measured(const Context& context, const load::Plan& plan, std::string_view what,
                                                const MakeLoad& make, const FinishResult& finish = {});

} // namespace scenario

#include "testbench/scenario/collective_run.h"

#include "testbench/scenario/collective_fit.h"
#include "testbench/scenario/measured_run.h"
#include "testbench/workload/collective_load.h"

namespace scenario {

namespace {

/// Ranks do an operation together, so that the measured time is divided by how often each has done it.
void add_bandwidth(const workload::CollectivePlan& plan, Result& result) {
    auto& row = result.operations.front();
    const auto each = plan.shape.ranks - plan.shape.servers.size();
    row.ranks = plan.shape.ranks;
    row.bytes = plan.shape.bytes;
    if (row.count == 0 || result.traffic->elapsed_ps <= 0)
        return;
    row.time_ns = static_cast<double>(result.traffic->elapsed_ps) / 1000 * static_cast<double>(each) /
                  static_cast<double>(row.count);
    row.algorithm_bandwidth = static_cast<double>(row.bytes) * 1e9 / row.time_ns;
    row.bus_bandwidth = row.algorithm_bandwidth * bus_factor(plan);
}

} // namespace

std::expected<Result, std::string> run_collective(const Context& context) {
    const auto plan = plan_collective(context.config);
    if (!plan)
        return std::unexpected(plan.error());
    return run_measured(
        context, plan->load, "operations",
        [&](auto& platform, auto& ledger) {
            return std::make_unique<workload::CollectiveLoad>(platform, *plan, ledger);
        },
        [&](const auto&, Result& result) { add_bandwidth(*plan, result); });
}

} // namespace scenario

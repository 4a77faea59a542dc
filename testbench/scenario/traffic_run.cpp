#include "testbench/scenario/traffic_run.h"

#include "testbench/load/load.h"
#include "testbench/scenario/measured_run.h"
#include "testbench/scenario/traffic_fit.h"

namespace scenario {

std::expected<Result, std::string> run_traffic(const Context& context) {
    const auto plan = plan_traffic(context.config);
    if (!plan)
        return std::unexpected(plan.error());
    return run_measured(context, *plan, "messages", [&](auto& platform, auto& ledger) {
        return std::make_unique<load::Load>(platform, *plan, ledger);
    });
}

} // namespace scenario

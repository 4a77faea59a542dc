#include "testbench/scenario/kv_run.h"

#include "testbench/scenario/kv_fit.h"
#include "testbench/scenario/measured_run.h"
#include "testbench/workload/kv_load.h"

namespace scenario {

std::expected<Result, std::string> run_kv(const Context& context) {
    const auto plan = plan_kv(context.config);
    if (!plan)
        return std::unexpected(plan.error());
    const auto finish = [&](const load::Stage& load, Result& result) {
        const auto& store = static_cast<const workload::KvLoad&>(load);
        for (std::size_t i = 0; i < result.operations.size(); ++i) {
            auto& row = result.operations[i];
            row.ranks = plan->clients;
            row.bytes = store.mean_bytes(static_cast<workload::KvKind>(i));
        }
        result.operations.front().repeated = store.repeated();
    };
    return run_measured(
        context, plan->load, "operations",
        [&](auto& platform, auto& ledger) { return std::make_unique<workload::KvLoad>(platform, *plan, ledger); },
        finish);
}

} // namespace scenario

#include "testbench/scenario/storage_run.h"

#include "testbench/scenario/counting.h"
#include "testbench/scenario/measured_run.h"
#include "testbench/scenario/storage_fit.h"
#include "testbench/workload/checkpoint_load.h"
#include "testbench/workload/storage_load.h"

#include <memory>
#include <string>
#include <utility>

namespace scenario {

namespace {

/// What `Load` makes of the plan, with what it has to know of the platform's counters.
template <class Load, class Plan> MakeLoad maker_of(const Plan& plan) {
    return [&plan](platform::topology::Platform& platform, load::Ledger& ledger) {
        auto made = std::make_unique<Load>(platform, plan, ledger);
        made->host_bytes = [&platform](std::size_t host) { return moved_payload(platform.machines()[host]).host_dram; };
        return made;
    };
}

/// What each drive has moved in the whole run, warm-up included.
void add_drives(const workload::DrivePlan& plan, const workload::DriveStage& load, Result& result) {
    for (std::size_t target = 0; target < plan.targets; ++target) {
        const auto& moved = load.moved()[target];
        const auto add = [&](std::string name, const sw::nvmf::Stage& stage) {
            result.transfers.push_back({.name = std::move(name),
                                        .verified = result.failure.empty(),
                                        .bytes = stage.bytes,
                                        .messages = stage.commands,
                                        .completions_ok = stage.commands,
                                        .sim_time_ps = stage.took().count() * 1000});
        };
        add("read " + plan.drives[target].name, moved.read);
        add("write " + plan.drives[target].name, moved.written);
    }
}

} // namespace

std::expected<Result, std::string> run_storage(const Context& context) {
    const auto plan = plan_storage(context.config);
    if (!plan)
        return std::unexpected(plan.error());
    const auto finish = [&](const load::Stage& load, Result& result) {
        add_drives(plan->drives, static_cast<const workload::DriveStage&>(load), result);
        sw::nvmf::Stage read, written; // of all drives
        for (const auto& moved : static_cast<const workload::DriveStage&>(load).moved()) {
            read.commands += moved.read.commands, read.bytes += moved.read.bytes;
            written.commands += moved.written.commands, written.bytes += moved.written.bytes;
        }
        for (auto& row : result.operations) {
            const auto& all = row.name == "read" ? read : written;
            row.ranks = plan->drives.users;
            row.bytes = all.commands == 0 ? 0 : all.bytes / all.commands;
        }
    };
    return run_measured(context, plan->drives.load, "operations", maker_of<workload::StorageLoad>(*plan), finish);
}

std::expected<Result, std::string> run_checkpoint(const Context& context) {
    const auto plan = plan_checkpoint(context.config);
    if (!plan)
        return std::unexpected(plan.error());
    const auto finish = [&](const load::Stage& load, Result& result) {
        add_drives(plan->drives, static_cast<const workload::DriveStage&>(load), result);
        auto& row = result.operations.front();
        row.ranks = plan->drives.users;
        row.bytes = plan->bytes;
        if (row.count == 0 || result.traffic->elapsed_ps <= 0)
            return;
        row.time_ns = static_cast<double>(result.traffic->elapsed_ps) / 1000 / static_cast<double>(row.count);
        row.algorithm_bandwidth = static_cast<double>(row.bytes) * 1e9 / row.time_ns;
    };
    return run_measured(context, plan->drives.load, "operations", maker_of<workload::CheckpointLoad>(*plan), finish);
}

} // namespace scenario

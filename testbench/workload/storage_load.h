// Clients that read and write drives of other hosts, on a platform.
#pragma once

#include "testbench/workload/drive_stage.h"
#include "testbench/workload/storage_plan.h"

#include <cstddef>

namespace workload {

class StorageLoad final : public DriveStage {
public:
    StorageLoad(platform::topology::Platform& platform, const StoragePlan& plan, load::Ledger& ledger)
        : DriveStage(platform, plan.drives, ledger), plan_(plan) {}

private:
    Needs needs_of(std::size_t user) const override;
    void use(std::size_t user, DriveUser& drives) override;

    const StoragePlan& plan_;
};

} // namespace workload

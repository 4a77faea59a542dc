// Storage as a plan: what clients ask of drives, one command after the other. Holds no simulation.
#pragma once

#include "platform/topology/workload_config.h"
#include "testbench/load/mix.h"
#include "testbench/load/random.h"
#include "testbench/workload/drive_part.h"
#include "testbench/workload/drive_plan.h"

#include <cstdint>
#include <optional>

namespace workload {

enum class StorageKind : std::uint8_t { read, write };

struct StoragePlan {
    DrivePlan drives{};
    platform::topology::StorageConfig how{};
    load::Sizes sizes{}; ///< whole blocks
};

/// Each client has a part of each drive.
void plan_routes(StoragePlan& plan);

struct StorageCommand {
    bool is_write = false;
    BlockRange blocks{};
};

/// What a client asks of one drive.
class StorageDraw {
public:
    StorageDraw(const StoragePlan& plan, std::uint64_t route)
        : plan_(plan), random_(plan.drives.load.work.seed, route) {}

    /// The next command, where it can begin. Nothing: what is under way is where it would be, and has to end first.
    std::optional<StorageCommand> take(const DrivePart& part);

private:
    StorageCommand draw(std::uint64_t blocks);

    const StoragePlan& plan_;
    load::Random random_;
    std::optional<StorageCommand> next_; ///< drawn, and not begun
    std::uint64_t number_ = 0, position_ = 0;
};

} // namespace workload

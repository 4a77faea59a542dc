// A client of drives: has as many commands under way on each queue as that holds, and holds each block that it reads
// against what it has last written there. The body of a thread of the simulation.
#pragma once

#include "testbench/workload/drive_user.h"
#include "testbench/workload/storage_plan.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace workload {

class StorageClient {
public:
    StorageClient(const StoragePlan& plan, DriveUser& drives, DriveShared& shared);
    void run();

    /// Bytes of memory for the commands of a client that has so many routes.
    static std::uint64_t memory_bytes(const StoragePlan& plan, std::size_t routes);

private:
    bool start_all();
    bool start(std::size_t link, unsigned queue);
    void end(std::size_t link, unsigned queue, const DriveCommand& command);

    const StoragePlan& plan_;
    DriveUser& drives_;
    DriveShared& shared_;
    std::vector<DrivePart> parts_;                 ///< by link
    std::vector<StorageDraw> draws_;               ///< by link
    std::vector<std::vector<std::uint64_t>> free_; ///< places in memory, by link
};

} // namespace workload

#include "testbench/workload/storage_load.h"

#include "testbench/workload/storage_client.h"

namespace workload {

DriveStage::Needs StorageLoad::needs_of(std::size_t user) const {
    return {.bytes = StorageClient::memory_bytes(plan_, plan_.drives.routes_of_user(user)), .is_vram = false};
}

void StorageLoad::use(std::size_t, DriveUser& drives) { StorageClient(plan_, drives, shared()).run(); }

} // namespace workload

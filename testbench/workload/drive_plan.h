// Drives of some hosts that others use over the wire, as a plan: who uses which part of which drive. Holds no
// simulation.
#pragma once

#include "platform/topology/workload_config.h"
#include "testbench/load/plan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace workload {

/// What users count in: whole logical blocks of any drive that can be used.
inline constexpr std::uint32_t drive_block_bytes = 4096;

struct PlannedDrive {
    platform::topology::PartAt at{};
    std::string name{}; ///< "A.nvme0"
};

/// A part of a drive that one user has for itself.
struct DriveRoute {
    std::size_t user = 0, target = 0, flow = 0;
    std::uint64_t first = 0, blocks = 0; ///< of the drive, in blocks of drive_block_bytes
};

struct DrivePlan {
    load::Plan load{}; ///< its nodes are the users, then the targets; a connection is one queue pair
    std::size_t users = 0, targets = 0;
    std::vector<PlannedDrive> drives{};         ///< by target
    std::vector<DriveRoute> routes{};           ///< a flow each
    platform::topology::StorageMemory memory{}; ///< that data pass at targets
    std::uint32_t command_bytes = 0;            ///< of a command, at most
    std::uint32_t queues = 1;                   ///< for I/O, of a route; load.work.depth commands on each

    std::size_t routes_of_target(std::size_t target) const;
    std::size_t routes_of_user(std::size_t user) const;
};

/// A flow from `user` to `target`, and its queue pairs: for I/O, and one for admin commands.
void add_route(DrivePlan& plan, std::size_t user, std::size_t target, std::uint64_t first, std::uint64_t blocks);

} // namespace workload

// A collective operation as a plan: who takes part, what each one sends to whom, how often. Holds no simulation.
#pragma once

#include "model/port/time.h"
#include "platform/topology/workload_config.h"
#include "testbench/load/plan.h"
#include "testbench/workload/schedule.h"

#include <cstdint>
#include <vector>

namespace workload {

enum class Collective : std::uint8_t { allreduce, alltoall, parameter_server };

struct CollectivePlan {
    load::Plan load{}; ///< its nodes are the ranks; a connection is one queue pair
    Collective kind = Collective::allreduce;
    Shape shape{};
    std::vector<Program> programs{}; ///< by rank
    std::uint64_t operations = 1;    ///< of each rank, the warm-up included
    double reduce_gbps = 0;          ///< Gbit/s; 0: adding takes no time
    model::port::Time skew{};

    /// Where a rank's messages to `peer` on a channel go.
    struct Channel {
        Rank first = 0, second = 0;
        std::uint32_t channel = 0;
        auto operator<=>(const Channel&) const = default;
    };
    std::vector<Channel> channels{}; ///< queue pairs between two ranks, the lower one first; as load.connections
};

/// Programs of all ranks, flows and queue pairs; `load.nodes`, `kind` and `shape` are set.
void plan_programs(CollectivePlan& plan, platform::topology::AllreduceAlgorithm algorithm);

/// What a rank receives on a queue pair for adding up, in one operation: so many places it needs at most.
std::uint32_t count_adds(const Program& program, Rank peer, std::uint32_t channel);

/// Bytes of memory that a rank needs for its data and for what it is to add.
std::uint64_t memory_of(const CollectivePlan& plan, Rank rank);

/// The factor by which algorithm bandwidth (bytes of a rank / time) becomes that of the busiest port, as NCCL's tests
/// have it; 0: it is not defined.
double bus_factor(const CollectivePlan& plan);

} // namespace workload

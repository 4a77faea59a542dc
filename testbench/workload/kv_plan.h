// A key-value store as a plan: clients, servers, what the operations are. Holds no simulation.
#pragma once

#include "platform/topology/workload_config.h"
#include "testbench/load/mix.h"
#include "testbench/load/plan.h"
#include "testbench/load/random.h"
#include "testbench/workload/kv_value.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace workload {

enum class KvKind : std::uint8_t { get, put };

struct KvPlan {
    load::Plan load{}; ///< its nodes are the clients, then the servers; a connection is one queue pair
    std::size_t clients = 0, servers = 0;
    platform::topology::KvConfig how{};
    load::Sizes sizes{};
    std::uint32_t queue_pairs = 1; ///< between a client and a server

    /// Each server has as many.
    std::uint64_t keys() const { return how.keys * servers; }
    std::size_t server_of(std::uint64_t key) const { return key % servers; }
    /// Among those of its server.
    std::uint64_t place_of(std::uint64_t key) const { return key / servers; }
    /// Bytes from one value to the next one, head included.
    std::uint64_t stride() const { return (value_head_bytes + sizes.most() + 63) / 64 * 64; }
    std::uint64_t read_bytes() const { return value_head_bytes + sizes.most(); }
};

/// Flows and queue pairs between each client and each server; the rest is set.
void plan_flows(KvPlan& plan);

/// What a client asks for, one after the other.
class KvDraw {
public:
    KvDraw(const KvPlan& plan, std::uint64_t part);

    struct Operation {
        KvKind kind{};
        std::uint64_t key = 0;
        std::uint32_t bytes = 0; ///< of a PUT
    };
    Operation next();

private:
    const KvPlan& plan_;
    load::Random random_;
    std::optional<load::Zipf> zipf_; ///< nothing: all keys are alike
    std::uint64_t number_ = 0;
};

/// Bytes of a value before anybody has put one.
std::uint32_t first_bytes(const KvPlan& plan, std::uint64_t key);

} // namespace workload

// The keys of [collective] and [kv]: what the scenarios of applications do (allreduce, alltoall, parameter_server, kv).
// Beside these count scenario.message, .mtu, .queue_depth, .qps and .seed, and some of [traffic].
#pragma once

#include "model/port/time.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace platform::topology {

enum class AllreduceAlgorithm : std::uint8_t {
    ring,        ///< reduce-scatter, then all-gather
    tree,        ///< a binary tree: sums go up, the total comes down
    double_tree, ///< two of them, each with half of the data: an inner node of one is a leaf of the other
};
inline constexpr std::array<std::string_view, 3> allreduce_algorithms{"ring", "tree", "double_tree"};

struct CollectiveConfig {
    std::string ranks;   ///< HCAs or hosts in the order of their ranks: "A..D"; empty: all
    std::string servers; ///< of parameter_server, and who they are; empty: the first of the ranks
    AllreduceAlgorithm algorithm = AllreduceAlgorithm::ring;
    std::uint64_t bytes = 1 << 20; ///< of each rank's data
    std::uint32_t warm_up = 1, operations = 4;
    double reduce_gbps = 80; ///< Gbit/s of data that a rank adds; 0: takes no time
    model::port::Time skew{};
};

/// How a client gets a value.
enum class KvBy : std::uint8_t {
    read,  ///< by READ, without the server's processor
    send,  ///< a SEND asks, a SEND answers
    write, ///< a SEND asks, a WRITE with immediate data answers
};
inline constexpr std::array<std::string_view, 3> kv_ways{"read", "send", "write"};

struct KvConfig {
    std::string clients, servers; ///< HCAs or hosts; empty: all but the first, and the first
    KvBy by = KvBy::read;
    std::uint64_t keys = 1024;   ///< of each server
    std::string sizes = "256 B"; ///< of values, as traffic.sizes
    double puts = 0.05;          ///< share of the operations
    double zipf = 0.99;          ///< exponent of the keys' popularity; 0: all alike
    std::uint64_t warm_up = 0, operations = 10'000;
    double copy_gbps = 80; ///< Gbit/s at which a server writes a value that was put; 0: takes no time
};

} // namespace platform::topology

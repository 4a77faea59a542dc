// The keys of [collective], [kv], [storage] and [checkpoint]: what the scenarios of applications do (allreduce,
// alltoall, parameter_server, kv, storage, checkpoint). Beside these count scenario.message, .mtu, .queue_depth, .qps
// and .seed, and some of [traffic].
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

/// Which blocks a client of a drive takes next.
enum class StoragePattern : std::uint8_t {
    random,     ///< any of its part
    sequential, ///< those behind the last ones, and from the begin again
};
inline constexpr std::array<std::string_view, 2> storage_patterns{"random", "sequential"};

/// Whose memory data pass at the host of a drive.
enum class StorageMemory : std::uint8_t {
    host,
    vram,  ///< of a GPU of that host
    drive, ///< the drive's own (its key memory_buffer)
};
inline constexpr std::array<std::string_view, 3> storage_memories{"host", "vram", "drive"};

struct StorageConfig {
    std::string targets, clients; ///< HCAs or hosts; empty: all that have a drive, and all others
    double reads = 0.7;           ///< share of the commands; the rest are Writes
    std::string sizes = "4 KiB";  ///< of commands, as traffic.sizes, in whole blocks of 4 KiB
    StoragePattern pattern = StoragePattern::random;
    std::uint64_t span = 1 << 20; ///< bytes of each drive that a client has for itself
    StorageMemory memory = StorageMemory::host;
    std::uint64_t warm_up = 0, operations = 1000; ///< commands, of each client
};

struct CheckpointConfig {
    std::string ranks, targets;     ///< HCAs or hosts; empty: all that are no targets, and all that have a drive
    std::uint64_t bytes = 16 << 20; ///< of the state of a rank
    StorageMemory memory = StorageMemory::host;
    std::uint32_t warm_up = 0, operations = 2; ///< checkpoints
};

} // namespace platform::topology

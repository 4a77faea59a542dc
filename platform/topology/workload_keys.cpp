#include "platform/topology/workload_keys.h"

#include "platform/topology/key_rows.h"

#include <array>

namespace platform::topology {
namespace {

using namespace key_rows;

constexpr double s = 1e12; // picoseconds

#define AT(member) ([](auto& c) -> auto& { return c.member; })

constexpr std::array rows{
    key<AT(collective.ranks)>("collective.ranks", anything,
                              "HCAs, or hosts whose first HCA is meant, in the order of their ranks: \"A..D\", "
                              "\"C.hca1, B\"; none: all"),
    key<AT(collective.servers)>("collective.servers", anything,
                                "of parameter_server: who of the ranks adds; none: the first of them"),
    choice<AT(collective.algorithm)>("collective.algorithm",
                                     "of allreduce: around a ring; up and down a tree; two trees with half of the "
                                     "data each"),
    size<AT(collective.bytes)>("collective.bytes", range(4, 16 * GiB),
                               "of each rank's data, all blocks of an alltoall together"),
    key<AT(collective.warm_up)>("collective.warm_up", range(0, 1e6), "operations that are not measured"),
    key<AT(collective.operations)>("collective.operations", range(1, 1e6), "and so many that are"),
    key<AT(collective.reduce_gbps)>("collective.reduce_gbps", range(0, 1e6),
                                    "Gbit/s of arrived data that a rank adds to its own; 0: that takes no time"),
    key<AT(collective.skew)>("collective.skew_ns", range(0, s),
                             "each rank begins each operation later, by up to so much, drawn"),

    key<AT(kv.clients)>("kv.clients", anything, "HCAs or hosts that ask: \"B..D\"; none: all that are no servers"),
    key<AT(kv.servers)>("kv.servers", anything, "and that have the values; none: the first one"),
    choice<AT(kv.by)>("kv.by", "how a client gets a value: it READs it; a SEND asks and a SEND, or a WRITE, answers"),
    key<AT(kv.keys)>("kv.keys", range(1, 1 << 22), "of each server"),
    key<AT(kv.sizes)>("kv.sizes", anything, "bytes of values, as those of traffic.sizes, at least 1"),
    key<AT(kv.puts)>("kv.puts", probability, "that an operation is a PUT, and no GET"),
    key<AT(kv.zipf)>("kv.zipf", range(0, 10), "exponent of how popular keys are; 0: all alike"),
    key<AT(kv.warm_up)>("kv.warm_up", range(0, 1e12), "operations of all clients that are not measured"),
    key<AT(kv.operations)>("kv.operations", range(1, 1e12), "and so many that are"),
    key<AT(kv.copy_gbps)>("kv.copy_gbps", range(0, 1e6),
                          "Gbit/s at which a server writes a value that was put; 0: that takes no time"),

    key<AT(storage.targets)>("storage.targets", anything,
                             "HCAs or hosts that offer a drive of theirs; none: all that have one"),
    key<AT(storage.clients)>("storage.clients", anything, "and that use all of these; none: all that are no targets"),
    key<AT(storage.reads)>("storage.reads", probability, "that a command is a Read, and no Write"),
    key<AT(storage.sizes)>("storage.sizes", anything,
                           "bytes of commands, as those of traffic.sizes, in whole blocks of 4 KiB"),
    choice<AT(storage.pattern)>("storage.pattern", "blocks of a client: drawn, or one behind the other"),
    size<AT(storage.span)>("storage.span", range(4 * KiB, 16 * GiB),
                           "bytes of each drive that a client has for itself"),
    choice<AT(storage.memory)>("storage.memory", "that data pass at a target: of its host, of a GPU, or of the drive"),
    key<AT(storage.warm_up)>("storage.warm_up", range(0, 1e9), "commands of each client that are not measured"),
    key<AT(storage.operations)>("storage.operations", range(1, 1e9), "and so many that are"),

    key<AT(checkpoint.ranks)>("checkpoint.ranks", anything,
                              "HCAs or hosts that write their state; none: all that are no targets"),
    key<AT(checkpoint.targets)>("checkpoint.targets", anything,
                                "HCAs or hosts whose drives they write it to, in turn; none: all that have one"),
    size<AT(checkpoint.bytes)>("checkpoint.bytes", range(4 * KiB, 16 * GiB), "of the state of a rank"),
    choice<AT(checkpoint.memory)>("checkpoint.memory",
                                  "that data pass at a target: of its host, of a GPU, or of the drive"),
    key<AT(checkpoint.warm_up)>("checkpoint.warm_up", range(0, 1e6), "checkpoints that are not measured"),
    key<AT(checkpoint.operations)>("checkpoint.operations", range(1, 1e6), "and so many that are"),
};
#undef AT

} // namespace

std::span<const Key> workload_keys() { return rows; }

} // namespace platform::topology

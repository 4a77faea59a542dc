// What each rank of a collective operation sends and receives, as lists that follow from its rank alone: no simulation,
// no memory. Who runs them (rank.h) knows nothing of rings and trees.
//
// A rank has data of `Shape::bytes`. A program is lanes, each of which has moves out and moves in. In a lane moves out
// are posted in their order, each when so many moves in have been dealt with as it says; moves in are dealt with in
// their order. Between two ranks the moves of a channel, whichever lanes they are of, are in the same order on either
// side, since they go over one queue pair.
#pragma once

#include <cstdint>
#include <vector>

namespace workload {

using Rank = std::uint32_t;

/// What becomes of a message where it arrives.
enum class Deed : std::uint8_t {
    add,   ///< WRITE into a place of its own; the receiver adds it to its data
    keep,  ///< WRITE to where it belongs
    tell,  ///< nothing but that the sender is so far; waits for what the sender has fetched before in the lane
    fetch, ///< READ: it arrives where it was posted, and is no move in of the peer
};

/// So many moves in of a lane.
struct Until {
    std::uint32_t lane = 0, count = 0;
    bool operator==(const Until&) const = default;
};

/// A message as one of its two ranks has it.
struct Move {
    Rank peer = 0;
    Deed deed{};
    std::uint64_t near = 0; ///< place in the data of this rank
    std::uint64_t far = 0;  ///< of a move out: place in that of the peer
    std::uint32_t bytes = 0;
    Until after{}; ///< of a move out
    bool operator==(const Move&) const = default;
};

struct Lane {
    std::uint32_t channel = 0;
    std::vector<Move> out{}, in{};
};

struct Program {
    std::vector<Lane> lanes{};
    bool contributes = true; ///< its data begin with values of its own, and not as zeros
};

struct Shape {
    std::uint32_t ranks = 2, channels = 1;
    std::uint64_t bytes = 4;     ///< of a rank's data, a multiple of 4
    std::uint32_t chunk = 4;     ///< bytes of a message, at most, a multiple of 4
    std::vector<Rank> servers{}; ///< of a parameter server
};

/// Bytes [begin, end).
struct Part {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t bytes() const { return end - begin; }
    bool operator==(const Part&) const = default;
};

/// Piece `number` of `whole` in `count` pieces of equal size to 4 bytes; where it is not divisible, the first ones have
/// 4 bytes more.
Part piece(Part whole, std::uint32_t count, std::uint32_t number);
/// In pieces of at most `chunk` bytes, in ascending order.
std::vector<Part> chunks(Part whole, std::uint32_t chunk);

/// All-reduce in a ring (Patarasuk, Yuan: "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC
/// 69(2), 2009): the data are cut into as many segments as there are ranks. In the first n - 1 steps each rank sends a
/// segment to the next one, which adds it up and sends it on; in n - 1 more the totals go around. Each channel does so
/// with its part of the data, in chunks that do not wait for each other.
Program ring_allreduce(const Shape& shape, Rank rank);

/// All-reduce in a binary tree: sums of chunks go up, totals come down, at the same time.
Program tree_allreduce(const Shape& shape, Rank rank);
/// In two trees with half of the data each (Sanders, Speck, Traeff: "Two-tree algorithms for full bandwidth broadcast,
/// reduction and scan", Parallel Computing 35(12), 2009): who adds and passes on in one is a leaf of the other, so that
/// all ports are at work.
Program double_tree_allreduce(const Shape& shape, Rank rank);

/// A rank's place in a tree.
struct TreePlace {
    bool is_root = false;
    Rank parent = 0;
    std::vector<Rank> children{};
    bool operator==(const TreePlace&) const = default;
};
/// In-order binary tree of `count`: odd places are those within it, even ones are leaves but for the last of an odd
/// count. `tree` 1 is its mirror (even count) or is shifted by one place (odd count).
TreePlace tree_place(std::uint32_t count, std::uint32_t tree, Rank rank);

/// Each rank has a block for each one, and gets one from each: in step k of n - 1 it sends to k places behind it and
/// receives from k places before it (pairwise exchange; Thakur, Rabenseifner, Gropp: "Optimization of collective
/// communication operations in MPICH", IJHPCA 19(1), 2005). A step begins when what came in the one before is there.
/// Places are those of blocks where they are sent from, and, of `far`, where they arrive.
Program pairwise_alltoall(const Shape& shape, Rank rank);

/// Workers push their data to servers, each of which adds up its part; who has been told that a chunk is complete,
/// READs it. A server is told when a worker has all of it.
Program parameter_server(const Shape& shape, Rank rank);

} // namespace workload

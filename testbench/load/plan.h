// What a load consists of: nodes, which are HCAs with cores and memory, connections between them, and the flows of
// messages over these. Holds no simulation.
#pragma once

#include "model/port/time.h"
#include "platform/topology/config.h"
#include "platform/topology/description.h"
#include "testbench/load/mix.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace load {

/// What every flow does.
struct Work {
    platform::topology::TrafficConfig how{};
    Verbs verbs{};
    Sizes sizes{};
    std::uint32_t queue_pairs = 1; ///< of a connection
    std::uint32_t depth = 64;      ///< messages under way, a queue pair
    std::uint32_t mtu = 4096;
    std::uint64_t seed = 1;

    bool is_ping_pong() const { return how.direction == platform::topology::TrafficDirection::ping_pong; }
    bool is_listed = false; ///< flows have their messages
    bool is_open_loop() const { return how.rate > 0 || is_listed; }
    /// Of the place of a message in memory.
    std::uint64_t stride() const { return std::max<std::uint64_t>(1, (std::uint64_t{sizes.most()} + 63) / 64) * 64; }
};

struct PlannedNode {
    platform::topology::PartAt hca{};
    std::optional<platform::topology::PartAt> gpu{}; ///< whose VRAM is used, where some is
    std::string name{};                              ///< of its HCA
};

/// A message that is to be sent.
struct Request {
    model::port::Time at{}; ///< since the begin of the load; of a closed loop: when it is posted
    Verb verb{};
    std::uint32_t bytes = 0;
};

struct Flow {
    std::size_t from = 0, to = 0;       ///< nodes
    std::string name{};                 ///< "A.hca0 -> B.hca0"
    std::vector<Request> requests = {}; ///< in the order of time, where they are listed; the queue pairs take turns
    /// Since the begin of the load: when the first message may be sent, and from when on nothing new is.
    model::port::Time joins = {}, leaves = model::port::never;
};

/// Queue pairs between two nodes. The first one sends, and the second one does where it has a flow.
struct Connection {
    std::size_t first = 0, second = 0;
    std::size_t forth = 0;
    std::optional<std::size_t> back{};
};

/// What an application does, which is many messages, or few: it decides what is measured.
struct Operations {
    std::vector<std::string> kinds{};        ///< "allreduce"; "GET", "PUT"
    std::uint64_t warm_up = 0, measured = 0; ///< of all nodes together
    bool has_reductions = false;
};

struct Plan {
    Work work{};
    std::optional<Operations> operations{}; ///< nothing: messages decide
    std::vector<PlannedNode> nodes{};
    std::vector<Flow> flows{};
    std::vector<Connection> connections{};
};

/// A flow, and a connection for it alone. Returns its number.
std::size_t add_flow(Plan& plan, std::size_t from, std::size_t to);

/// Gives each connection's flows their times: each joins `join` after the one before it, and leaves `stay` later; a
/// `stay` of 0 is for ever.
void stagger(Plan& plan, model::port::Time join, model::port::Time stay);

/// Flows from each of `from` to those of `to` that the pattern has, and one back beside each of them where
/// `is_bidirectional`. Both list nodes, none twice. What a permutation draws follows from `seed`.
/// The error says why the pattern is impossible: lists of different lengths, nobody to send to.
std::expected<void, std::string> add_flows(Plan& plan, platform::topology::TrafficPattern pattern,
                                           const std::vector<std::size_t>& from, const std::vector<std::size_t>& to,
                                           bool is_bidirectional, std::uint64_t seed);

} // namespace load

// What clients and servers of a key-value store share: queue pairs between them, and what is known of each key.
#pragma once

#include "testbench/load/device.h"
#include "testbench/load/ledger.h"
#include "testbench/load/progress.h"
#include "testbench/workload/kv_plan.h"
#include "testbench/workload/kv_request.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace workload {

/// One end of a queue pair between a client and a server, with a place of each kind for each operation under way.
struct KvLink {
    KvLink* other = nullptr;
    load::Device* device = nullptr;
    std::size_t flow = 0;    ///< of what is sent from here
    std::size_t server = 0;  ///< by number among the servers
    std::uint32_t depth = 1; ///< operations under way
    std::unique_ptr<sw::verbs::QueuePair> qp{};
    // Memories of the node, and the first of our places in each.
    const load::Memory *out = nullptr, *received = nullptr, *landing = nullptr;
    std::uint64_t first = 0;
    std::uint64_t given = 0, taken = 0; ///< receives

    struct Posted {
        model::port::Time since{};
        load::Verb verb{};
        std::uint32_t bytes = 0, slot = 0;
    };
    std::deque<Posted> under_way{}; ///< in the order of their completions

    void give_receive(std::uint64_t number);
    /// Where the next receive is.
    load::Place next_received() { return received->slot(first + taken++ % depth); }
    load::Place out_place(std::uint32_t slot) const { return out->slot(first + slot); }
    load::Place landing_place(std::uint32_t slot) const { return landing->slot(first + slot); }
};

/// What all clients and servers share.
struct KvShared : load::Progress {
    KvShared(const KvPlan& all, load::Ledger& who_counts)
        : plan(all), ledger(who_counts), acknowledged(all.keys()), written(all.keys()), clients(all.clients) {}

    const KvPlan& plan;
    load::Ledger& ledger;
    std::vector<std::uint64_t> acknowledged; ///< of each key, the version that a client was last told of
    std::vector<std::uint64_t> written;      ///< and the one that its server has last begun to write
    std::size_t clients;                     ///< that have not come to their end
    std::uint64_t under_way = 0, verified = 0, repeated = 0;
    std::array<std::uint64_t, 2> operations{}, bytes{}; ///< by kind

    bool is_over() const { return !failure.empty() || ledger.is_over(); }
    /// A value that a client was given. Fails the load where it is not one that was put, or is older than one that had
    /// been acknowledged before it was asked for (`least`).
    void look_at(std::span<const std::byte> value, const ValueHead& head, std::uint64_t key, std::uint64_t least,
                 const std::string& client);
};

} // namespace workload

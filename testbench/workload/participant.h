// A rank of a collective operation at work: posts what its program says, as soon as it says so and the peer has room,
// adds up what has arrived, and looks at the result. The body of a thread of the simulation.
//
// A WRITE with immediate data tells that it is there; the immediate is its number on the queue pair. The receiver gives
// credits back, by SENDs without data, when it has dealt with what came: so no place is written to before it is free,
// and no message finds no receive.
#pragma once

#include "testbench/load/device.h"
#include "testbench/load/ledger.h"
#include "testbench/load/progress.h"
#include "testbench/load/random.h"
#include "testbench/workload/collective_plan.h"
#include "testbench/workload/values.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace workload {

/// What the drivers hold of a rank.
struct RankMemory {
    load::Memory data{};   ///< one place of all bytes
    load::Memory result{}; ///< of an alltoall: two, for operations in turn
    load::Memory places{}; ///< for what is to be added
};

/// A memory of a rank elsewhere, as work requests have it.
struct FarMemory {
    std::uint64_t address = 0, stride = 0;
    std::uint32_t key = 0;

    FarMemory() = default;
    /// What the rank itself tells of it; it may be empty.
    explicit FarMemory(const load::Memory& memory) {
        if (memory.slots() != 0)
            address = memory.slot(0).address, stride = memory.stride(), key = memory.slot(0).key;
    }
    load::Place slot(std::uint64_t number) const {
        return {.address = address + number * stride, .key = key, .data = nullptr, .offset = 0};
    }
};

/// What ranks tell each other before they begin.
struct FarRank {
    sw::verbs::Peer peer{}; ///< but the number of the queue pair
    FarMemory data{}, result{}, places{};
};

/// One end of a queue pair between two ranks.
struct Link {
    const Link* other = nullptr; ///< of which only what is planned counts: it may be in another process
    Rank rank = 0, peer = 0;
    const FarRank* far = nullptr;       ///< the peer
    std::size_t flow = 0;               ///< of what is sent from here
    sw::verbs::QueuePair* qp = nullptr; ///< where the rank is in this process
    abi::Qpn qpn{};
    std::uint32_t window = 1;                  ///< messages to this end that it has not dealt with, at most
    std::uint64_t first_place = 0, places = 0; ///< of what comes to this end to be added

    struct Posted {
        model::port::Time since{};
        load::Verb verb{};
        std::uint32_t bytes = 0, lane = 0;
        bool is_credit = false;
    };
    std::deque<Posted> under_way{}; ///< in the order of their completions
    std::uint32_t credits = 0;      ///< messages that the peer has room for
    std::uint64_t sent = 0, adds_sent = 0;

    std::deque<std::uint32_t> arrived{}; ///< bytes of those that nobody has looked at
    std::uint64_t received = 0, adds_received = 0;
    std::uint32_t owed = 0; ///< credits to be given back
};

/// What all ranks share.
struct CollectiveShared : load::Progress {
    CollectiveShared(const CollectivePlan& all, load::Ledger& who_counts) : plan(all), ledger(who_counts) {}

    const CollectivePlan& plan;
    load::Ledger& ledger;
    std::uint64_t under_way = 0, verified = 0; ///< messages
};

class Participant {
public:
    /// `links` by wr_id, those of `rank`; their channels in `channels`.
    Participant(load::Device& device, const RankMemory& memory, Rank rank, std::vector<Link*> links,
                const std::vector<std::uint32_t>& channels, CollectiveShared& shared);
    void run();

private:
    struct LaneState {
        std::size_t next_out = 0;                           ///< to be posted
        std::uint32_t taken = 0;                            ///< moves in, of which adding may still take time
        std::uint32_t dealt_with = 0;                       ///< moves in
        std::uint32_t fetching = 0;                         ///< READs under way
        std::vector<std::uint32_t> out_links{}, in_links{}; ///< of each move
    };
    struct Addition {
        model::port::Time end{}, took{};
        std::uint32_t lane = 0, link = 0;
        std::uint64_t place = 0, near = 0;
        std::uint32_t bytes = 0;
    };

    void begin(std::uint64_t operation);
    void fill(std::uint64_t operation);
    void play(std::uint64_t operation);
    bool is_done() const;
    bool advance();
    bool post_next(std::uint32_t lane);
    bool take_next(std::uint32_t lane);
    bool finish_additions();
    bool give_credits(Link& link, std::uint32_t number);
    void post(Link& link, std::uint32_t lane, std::uint32_t number, const Move& move);
    std::size_t poll_sent();
    std::size_t poll_received();
    void verify(std::uint64_t operation);
    void look_at(const load::Place& place, Part part, std::uint64_t from, const Values& values, const Values::Sum& sum,
                 std::uint64_t operation);
    /// Waits for memory to change, or until that time.
    void wait(model::port::Time until);
    load::Place data_at(std::uint64_t offset) const;
    load::Place result_at(std::uint64_t operation, std::uint64_t offset) const;
    std::uint32_t queue_size(const Link& link) const { return 4 * link.window; }

    load::Device& device_;
    const RankMemory& memory_;
    const Rank rank_;
    std::vector<Link*> links_;
    CollectiveShared& shared_;
    const CollectivePlan& plan_;
    const Program& program_;
    load::Core& core_;
    load::Random random_;
    std::uint64_t operation_ = 0;
    std::vector<LaneState> lanes_;
    std::deque<Addition> additions_; ///< in the order of their ends
    model::port::Time adder_free_{};
    std::uint64_t data_under_way_ = 0;
    std::vector<load::Done> done_; ///< found by one poll
};

} // namespace workload

// One run of a race of RDMA (race_rdma.h): builds what it needs, lets the actions begin at their point, and looks at
// everything afterwards. race_run.cpp goes through it, race_checks.cpp has what must be true at its end.
#pragma once

#include "testbench/harness/cluster.h"
#include "testbench/harness/function_reset.h"
#include "testbench/scenario/race.h"
#include "testbench/scenario/race_content.h"
#include "testbench/scenario/race_memory.h"
#include "testbench/scenario/race_moment.h"
#include "testbench/scenario/race_rdma.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace scenario::race {

/// One message, and its part of the victim's memory.
struct Transfer {
    std::uint64_t begin = 0;  ///< of its bytes in the region
    std::size_t importer = 0; ///< whose registration it uses
    std::unique_ptr<harness::RegisteredMemory> peer{};
    harness::Connection connection{};
    std::optional<sw::mlx::Completion> completion{};
    bool is_given_back = false;             ///< its part of the memory is somebody else's
    std::vector<std::byte> peer_snapshot{}; ///< when the peer's card had gone
    bool is(sw::mlx::CompletionStatus status) const { return completion && completion->status == status; }
    bool is_done() const { return is(sw::mlx::CompletionStatus::success); }
};

class Race {
public:
    Race(harness::Cluster& cluster, const Setup& setup, Outcome& outcome);
    Race(const Race&) = delete;
    Race& operator=(const Race&) = delete;

    void run();

    // For actions (race_rdma.cpp), which may be two at once:
    void violate(std::string what) { outcome_.violations.push_back(std::move(what)); }
    const RdmaOperation::Facts& operation() const { return operation_; }
    bool is_responder() const { return setup_.victim == &rdma_rows::responder; }
    harness::Side& owner() { return owner_; }
    Memory& memory() { return *memory_; }
    /// Whether the call succeeded, as it must while its card lives.
    bool succeeds(const sw::Result<void>& result);
    /// The memory of everybody, or of one importer, is somebody else's from this instant on.
    void give_back(std::optional<std::size_t> importer = {});
    void reset_card();
    void release_memory();
    void let_peer_die();
    /// Whether afterwards a registration may lead nowhere any more, although its card lives.
    bool has_ended(std::size_t importer) const;

private:
    using Bytes = std::vector<std::byte>;
    /// Where a region is for a device; it outlives the registration.
    struct Key {
        std::uint32_t key = 0;
        std::uint64_t address = 0;
    };
    bool has(const Action& action) const;
    /// Whether the transfers bring bytes into the victim's memory.
    bool is_target() const;
    /// The side that requests is reset: its requests have no end.
    bool is_requester_dead() const { return has(is_responder() ? rdma_rows::death : rdma_rows::flr); }

    // --- race_run.cpp ---
    void set_up();
    void post();
    void post(Transfer& transfer);
    void await();
    void let_it_end();
    void probe();
    void measure();
    bool is_touch(const traces::Stamp& stamp, const traces::Event& event) const;
    void take_down();
    // --- race_checks.cpp ---
    bool has_right_end(const Transfer& transfer) const;
    bool has_lost_packets() const;
    void check_status();
    void check_victim(const Transfer& transfer);
    void check_peer(const Transfer& transfer);
    void check_atomic(const Transfer& transfer);
    void check_around();
    void check_probe();
    bool is_write_lost() const;

    /// What the next owner puts there.
    unsigned next_content() const;
    /// Fills what `wanted(transfer)` says of the victim's memory.
    template <class Wanted> void put(unsigned kind, Wanted&& wanted) {
        memory_->each_byte([&](std::uint64_t i, std::byte& byte) {
            if (wanted(transfers_[i / size_]))
                byte = content(kind, i);
        });
    }
    Bytes contents(unsigned kind, const Transfer& transfer) const;
    static constexpr std::uint64_t addend = 0x1234567; ///< of atomics

    harness::Cluster& cluster_;
    const Setup& setup_;
    Outcome& outcome_;
    const RdmaOperation::Facts& operation_;
    std::uint64_t size_; ///< of a transfer
    harness::Side &owner_, &other_;

    std::optional<Memory> memory_;
    std::vector<Key> keys_; ///< one an importer
    std::deque<Transfer> transfers_;
    Bytes around_; ///< memory_->all(), at the start
    harness::Connection probing_;
    std::unique_ptr<harness::RegisteredMemory> probe_memory_;
    Bytes probe_before_; ///< its bytes
    std::optional<sw::mlx::Completion> probed_;
    std::size_t probe_begin_ = 0; ///< events before it

    std::optional<harness::FunctionReset> reset_, peer_reset_;
    Moment moment_;
    Bytes snapshot_; ///< of the region: each part when it was given back, or at the end
};

} // namespace scenario::race

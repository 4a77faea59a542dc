#include "testbench/scenario/race_rdma.h"

#include "testbench/scenario/race_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <exception>

namespace scenario::race {

using sw::mlx::CompletionStatus;
using sw::mlx::SendOperation;
using namespace rdma_rows;

namespace {

const RdmaOperation write{
    "write", {.opcode = SendOperation::write, .to_responder = true, .refused = CompletionStatus::remote_access_error}},
    read{"read",
         {.opcode = SendOperation::read, .to_requester = true, .refused = CompletionStatus::remote_access_error}},
    send{"send",
         {.opcode = SendOperation::send,
          .to_responder = true,
          .needs_receive = true,
          .refused = CompletionStatus::remote_operation_error}},
    atomic{"atomic",
           {.opcode = SendOperation::fetch_add,
            .to_responder = true,
            .to_requester = true,
            .is_atomic = true,
            .refused = CompletionStatus::remote_access_error}};

const Victim requester{"requester"};

/// The registration leads nowhere any more, and who asks is told that it has no right.
bool has_lost_its_right(const Race& race, const Transfer& transfer) {
    if (!transfer.is_given_back || !race.has_ended(transfer.importer))
        return false;
    return transfer.is(race.is_responder() ? race.operation().refused : CompletionStatus::local_protection_error);
}

/// The card of one side was reset.
bool has_lost_its_card(const Transfer& transfer, bool is_requester_gone) {
    return is_requester_gone ? !transfer.completion : transfer.is(CompletionStatus::transport_retry_exceeded);
}

/// Its exporter takes it back.
class Revoke final : public RdmaAction {
public:
    using RdmaAction::RdmaAction;
    void perform(Race& race) const override {
        if (race.succeeds(race.owner().gpu->revoke(race.memory().buffer())))
            race.give_back();
    }
    bool is_right(const Race& race, const Transfer& transfer) const override {
        return has_lost_its_right(race, transfer);
    }
};

/// Its exporter wants to move it, which a buffer that is pinned for a card does not allow. What has nobody left who
/// uses it may move, so it is alone.
class Move final : public RdmaAction {
public:
    using RdmaAction::RdmaAction;
    void perform(Race& race) const override {
        if (const auto moved = race.owner().gpu->migrate(race.memory().buffer(), sw::gpu::Placement::system); moved)
            race.violate("a buffer that a card has pinned was moved");
        else if (moved.error().code != EBUSY)
            race.violate(
                fmt::format("a move of a pinned buffer is refused for another reason: {}", moved.error().what));
    }
    bool is_right(const Race&, const Transfer&) const override { return false; } // nothing may make it fail
};

/// Its registration goes.
class Unmap final : public RdmaAction {
public:
    using RdmaAction::RdmaAction;
    void perform(Race& race) const override {
        if (race.succeeds(race.memory().regions().front().destroy()))
            race.give_back(0);
    }
    bool is_right(const Race& race, const Transfer& transfer) const override {
        return has_lost_its_right(race, transfer);
    }
};

/// The card is reset.
class Reset final : public RdmaAction {
public:
    using RdmaAction::RdmaAction;
    void perform(Race& race) const override { race.reset_card(); }
    bool is_right(const Race& race, const Transfer& transfer) const override {
        return has_lost_its_card(transfer, !race.is_responder());
    }
};

/// Host memory is given back with its registration alive: behind a remapping unit, which then leads nowhere.
class Release final : public RdmaAction {
public:
    using RdmaAction::RdmaAction;
    void perform(Race& race) const override { race.release_memory(); }
    /// Nobody may reach it any more, and that is no matter of rights.
    bool is_right(const Race& race, const Transfer& transfer) const override {
        return transfer.is_given_back && transfer.is(race.is_responder() ? CompletionStatus::remote_operation_error
                                                                         : CompletionStatus::local_qp_operation_error);
    }
};

/// Its exporter moves it to host memory: it is registered on demand, so the transfer goes on where it is then.
class Migrate final : public RdmaAction {
public:
    using RdmaAction::RdmaAction;
    void perform(Race& race) const override {
        race.memory().migrate();
        race.give_back();
    }
    bool is_right(const Race&, const Transfer&) const override { return false; }
};

/// The peer's card is reset, as when its process was killed; the peer's memory is somebody else's at once.
class Death final : public RdmaAction {
public:
    using RdmaAction::RdmaAction;
    void perform(Race& race) const override { race.let_peer_die(); }
    bool is_right(const Race& race, const Transfer& transfer) const override {
        return has_lost_its_card(transfer, race.is_responder());
    }
};

const Revoke revoke_row{"revoke", {.memory = MemoryKind::revocable}};
const Move move_row{"move", {.memory = MemoryKind::revocable, .is_alone = true}};
const Unmap unmap_row{"unmap", {}};
const Reset flr_row{"flr", {}};
const Release release_row{"release", {.memory = MemoryKind::host, .needs_unit = true}};
const Migrate migrate_row{"migrate", {.memory = MemoryKind::on_demand}};
const Death death_row{"death", {}};

// The card keeps lent payload under way although memory goes: by a work request that changes its key, by a command, by
// a reset of the card.
const Plant umr_drain{"umr_drain"}, command_drain{"command_drain"}, reset_drain{"reset_drain"};

/// All of it is looked at after each run.
constexpr std::uint64_t smallest_vram = 1 << 20;

class Rdma final : public Subject {
public:
    std::string_view name() const override { return "rdma"; }
    std::span<const Operation* const> operations() const override {
        static const std::array<const Operation*, 4> all{&write, &read, &send, &atomic};
        return all;
    }
    std::span<const Victim* const> victims() const override {
        static const std::array<const Victim*, 2> all{&requester, &responder};
        return all;
    }
    std::span<const Action* const> actions() const override {
        static const std::array<const Action*, 7> all{&revoke, &move_row, &unmap, &flr, &release, &migrate, &death};
        return all;
    }
    std::span<const Actions> together() const override {
        static const std::array<Actions, 5> all{Actions{&revoke, &unmap}, Actions{&revoke, &death},
                                                Actions{&unmap, &flr}, Actions{&migrate, &death},
                                                Actions{&release, &unmap}};
        return all;
    }
    std::span<const Plant* const> plants() const override {
        static const std::array<const Plant*, 5> all{&stale_key, &missing_invalidation, &umr_drain, &command_drain,
                                                     &reset_drain};
        return all;
    }

    std::string_view platform() const override { return {}; }
    /// The smallest steps: a queue pair's turn is one packet, which is sent when the one before has left and arrives in
    /// a step of its own.
    std::vector<std::string> keys(std::uint64_t bytes) const override {
        return {"hca.packets_per_turn=1",
                fmt::format("gpu.vram={}", std::bit_ceil(std::max(smallest_vram, 8 * bytes)))};
    }
    std::span<const Axis> axes() const override {
        static const std::array<Axis, 4> all{
            Axis{{"500 ns", {"link.latency_ns=500"}},
                 {"2500 ns", {"link.latency_ns=2500"}},
                 {"30000 ns", {"link.latency_ns=30000"}}},
            Axis{{"100 Gb/s", {"link.rate_gbps=100"}}, {"1 Gb/s", {"link.rate_gbps=1"}}},
            Axis{{"cable", {"fabric.switch=false", "link.encapsulation=roce_v2"}},
                 {"switch", {"fabric.switch=true", "link.encapsulation=infiniband"}}},
            Axis{{"physical", {"iommu.present=false"}}, {"remapping", {"iommu.present=true"}}}};
        return all;
    }
    bool can_share() const override { return true; }

    Outcome run(const platform::topology::Config& config, const Setup& setup,
                platform::record::Recording* recording) const override {
        Outcome outcome;
        try {
            harness::Cluster cluster(config, config.observe.has_ownership, recording);
            cluster.expects_refusals = true; // of what is asked of a card that was reset
            cluster.device_options.page_faults = kind_of(setup.actions) == MemoryKind::on_demand;
            const auto has = [&](const Action& action) {
                return std::ranges::find(setup.actions, &action) != setup.actions.end();
            };
            const bool has_reset = has(flr) || has(death);
            if (has_reset) // what a driver asks afterwards is never answered
                cluster.device_options.command.timeout = std::chrono::milliseconds{10};
            cluster.expects_faults = has_reset || has(release);
            cluster.run([&](harness::Side&, harness::Side&) { Race(cluster, setup, outcome).run(); });
        } catch (const std::exception& error) {
            harness::forget_left_frames();
            outcome.violations.push_back(error.what());
        }
        return outcome;
    }
};

} // namespace

const RdmaAction &rdma_rows::revoke = revoke_row, &rdma_rows::unmap = unmap_row, &rdma_rows::flr = flr_row,
                 &rdma_rows::release = release_row, &rdma_rows::migrate = migrate_row, &rdma_rows::death = death_row;
const Victim rdma_rows::responder{"responder"};
/// The revocation does not reach the card.
const Plant rdma_rows::stale_key{"stale_key"};
/// The remapping unit is not told that a mapping went.
const Plant rdma_rows::missing_invalidation{"missing_invalidation", true};

std::optional<model::port::Giver> undrained(const Plant* plant) {
    using model::port::Giver;
    return plant == &umr_drain       ? std::optional(Giver::work_request)
           : plant == &command_drain ? std::optional(Giver::command)
           : plant == &reset_drain   ? std::optional(Giver::reset)
                                     : std::nullopt;
}

const Subject& rdma() {
    static const Rdma one;
    return one;
}

} // namespace scenario::race

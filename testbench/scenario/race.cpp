#include "testbench/scenario/race.h"

#include "testbench/harness/cluster.h"
#include "testbench/scenario/race_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

namespace scenario::race {
namespace {

// In the order of their enumerations.
constexpr std::array<std::string_view, 4> operation_names{"write", "read", "send", "atomic"};
constexpr std::array<std::string_view, 8> action_names{"none", "revoke",  "move",    "unmap",
                                                       "flr",  "release", "migrate", "death"};
constexpr std::array<std::string_view, 2> victim_names{"requester", "responder"};
constexpr std::array<std::string_view, 6> plant_names{"none",      "stale_key",     "missing_invalidation",
                                                      "umr_drain", "command_drain", "reset_drain"};

} // namespace

std::span<const std::string_view> operations() { return operation_names; }
std::span<const std::string_view> actions() { return action_names; }
std::span<const std::string_view> victims() { return victim_names; }
std::span<const std::string_view> plants() { return plant_names; }

std::string name(const Actions& actions) {
    std::string text(action_names[static_cast<unsigned>(actions[0])]);
    if (actions[1] != Action::none)
        text.append("+").append(action_names[static_cast<unsigned>(actions[1])]);
    return text;
}

MemoryKind kind_of(const Actions& actions) {
    const auto has = [&](Action action) { return std::ranges::find(actions, action) != actions.end(); };
    return has(Action::release)   ? MemoryKind::host
           : has(Action::migrate) ? MemoryKind::on_demand
                                  : MemoryKind::revocable;
}

bool can_be_at_once(const Actions& actions) {
    const auto is_any = [](Action action) {
        return action == Action::none || action == Action::unmap || action == Action::flr || action == Action::death;
    };
    const auto [first, second] = actions;
    // What has nobody left who uses it may move.
    if (first == second || (second != Action::none && (first == Action::move || second == Action::move)))
        return false;
    return is_any(first) || is_any(second) || kind_of({first, Action::none}) == kind_of({second, Action::none});
}

bool has_overlapped(const Touches& undisturbed, const Outcome& outcome) {
    if (!outcome.is_reached)
        return false;
    return (undisturbed.count > 1 ? outcome.touched != 0 : outcome.has_begun) && outcome.touched < undisturbed.count;
}

bool has_overlapped_end(const Touches& undisturbed, const Outcome& outcome) {
    return has_overlapped(undisturbed, outcome) && outcome.touched_at_end < undisturbed.count;
}

Outcome run(const platform::topology::Config& config, const Setup& setup, platform::record::Recording* recording) {
    Outcome outcome;
    try {
        harness::Cluster cluster(config, config.observe.has_ownership, recording);
        cluster.expects_refusals = true; // of what is asked of a card that was reset
        cluster.device_options.page_faults = kind_of(setup.actions) == MemoryKind::on_demand;
        const auto has = [&](Action action) { return std::ranges::find(setup.actions, action) != setup.actions.end(); };
        const bool has_reset = has(Action::flr) || has(Action::death);
        if (has_reset) // what a driver asks afterwards is never answered
            cluster.device_options.command.timeout = std::chrono::milliseconds{10};
        cluster.expects_faults = has_reset || has(Action::release);
        cluster.run([&](harness::Side&, harness::Side&) { Race(cluster, setup, outcome).run(); });
    } catch (const std::exception& error) {
        harness::forget_left_frames();
        outcome.violations.push_back(error.what());
    }
    return outcome;
}

} // namespace scenario::race

#include "testbench/result/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace hcasim {
namespace {

struct Metric {
    std::string_view field;
    Worse worse;
};

/// Bytes and packets are the workload's, hits go with misses, and events have no good and bad.
constexpr std::array metrics{
    Metric{"completions_error", Worse::more},
    Metric{"retries", Worse::more},
    Metric{"timeouts", Worse::more},
    Metric{"rnr_waits", Worse::more},
    Metric{"naks", Worse::more},
    Metric{"duplicates", Worse::more},
    Metric{"packets_dropped", Worse::more},
    Metric{"requests_again", Worse::more},
    Metric{"misses", Worse::more},
    Metric{"sim_time_ns", Worse::more},
    Metric{"busy_up_ns", Worse::more},
    Metric{"busy_down_ns", Worse::more},
    Metric{"busy_ns", Worse::more},
    Metric{"waited_ns", Worse::more},
    Metric{"longest_wait_ns", Worse::more},
    Metric{"credit_waits_ns", Worse::more},
    Metric{"round_trip_ns", Worse::more},
    Metric{"unposted", Worse::more},
    Metric{"rate_error", Worse::more},
    Metric{"settled_ns", Worse::more},
    Metric{"latency_mean_ns", Worse::more},
    Metric{"latency_min_ns", Worse::more},
    Metric{"latency_p50_ns", Worse::more},
    Metric{"latency_p90_ns", Worse::more},
    Metric{"latency_p99_ns", Worse::more},
    Metric{"latency_p99_9_ns", Worse::more},
    Metric{"latency_max_ns", Worse::more},
    Metric{"wall_seconds", Worse::more},
    Metric{"host_dram_payload_bytes", Worse::more},
    Metric{"verified", Worse::less},
    Metric{"completions_ok", Worse::less},
    Metric{"landed_bytes", Worse::less},
    Metric{"hits", Worse::less},
    Metric{"hit_rate", Worse::less},
    Metric{"rate_bytes_per_second", Worse::less},
    Metric{"lowest_rate_bytes_per_second", Worse::less},
    Metric{"slowest_flow_bytes_per_second", Worse::less},
    Metric{"messages_per_second", Worse::less},
    Metric{"fairness", Worse::less},
};

struct PassedOver {
    std::string_view group, field;
};

/// Who ran, and paths of the machine it ran on; the digest of the payload says which bytes it were.
constexpr std::array passed_over{
    PassedOver{"", "kind"},
    PassedOver{"", "format"},
    PassedOver{"", "version"},
    PassedOver{"", "revision"},
    PassedOver{"", "payload_path"},
    PassedOver{"configuration", "scenario.payload"},
    PassedOver{"keys_without_effect", "where"},
};

} // namespace

Worse worse_of(std::string_view field) {
    const auto found = std::ranges::find(metrics, field, &Metric::field);
    return found == metrics.end() ? Worse::unknown : found->worse;
}

bool is_passed_over(std::string_view group, std::string_view field) {
    return std::ranges::any_of(passed_over,
                               [&](const PassedOver& one) { return one.group == group && one.field == field; });
}

bool is_of_machine(std::string_view field) { return field == "wall_seconds"; }

bool counts_absent_as_zero(std::string_view group) { return group == "events" || group == "reasons"; }

std::expected<Tolerance, std::string> read_tolerance(std::string_view text) {
    const auto refuse = [&](std::string_view reason) {
        return std::unexpected(fmt::format("--tolerance {}: {}", text, reason));
    };
    const auto equals = text.rfind('=');
    if (equals == std::string_view::npos || equals == 0)
        return refuse("is to be NAME=5%, NAME=200 or NAME=any");
    Tolerance tolerance{.name = std::string(text.substr(0, equals))};
    auto amount = text.substr(equals + 1);
    if (amount == "any") {
        tolerance.kind = Tolerance::Kind::any;
        return tolerance;
    }
    if (amount.ends_with('%')) {
        tolerance.kind = Tolerance::Kind::percent;
        amount.remove_suffix(1);
    }
    const auto [end, error] = std::from_chars(amount.data(), amount.data() + amount.size(), tolerance.amount);
    if (error != std::errc() || end != amount.data() + amount.size() || !std::isfinite(tolerance.amount) ||
        tolerance.amount < 0)
        return refuse(fmt::format("'{}' is no amount: a number from 0 on, one with %, or any", amount));
    return tolerance;
}

unsigned closeness(const Tolerance& tolerance, const ValuePlace& place) {
    const std::string_view name = tolerance.name;
    if (place.group.empty())
        return name == place.field ? 2 : 0;
    if (name == fmt::format("{}[{}].{}", place.group, place.thing, place.field))
        return 5;
    if (!place.thing.empty() && name == fmt::format("{}[{}]", place.group, place.thing))
        return 4;
    if (name == fmt::format("{}.{}", place.group, place.field))
        return 3;
    return name == place.field ? 2 : name == place.group ? 1 : 0;
}

const Tolerance* closest(std::span<const Tolerance> all, const ValuePlace& place) {
    const Tolerance* found = nullptr;
    unsigned best = 1;
    for (const auto& one : all)
        if (const auto near = closeness(one, place); near >= best) {
            best = near;
            found = &one;
        }
    return found;
}

bool is_within(const Tolerance& tolerance, double before, double after) {
    const auto difference = std::abs(after - before);
    switch (tolerance.kind) {
    case Tolerance::Kind::absolute: return difference <= tolerance.amount;
    case Tolerance::Kind::percent: return difference <= tolerance.amount / 100 * std::abs(before);
    case Tolerance::Kind::any: return true;
    }
    return false;
}

} // namespace hcasim

// Sections 6 and 7: many connections, and memory beyond what the caches of translations hold (F5).
#include "testbench/calibrate/figures.h"

#include <array>
#include <cstdint>

namespace calibrate {
namespace {

constexpr std::string_view source = "SRNIC, NSDI 2023, and user measurements";
constexpr std::uint32_t few = 128, most = 16384;

/// One message of 1 KiB on each queue pair in turn.
constexpr Traffic in_turn(std::uint32_t queue_pairs) {
    return {.bytes = 1024,
            .queue_pairs = queue_pairs,
            .depth = 1,
            .cores = 4,
            .mtu = 1024,
            .warm_up = std::max(2'000u, queue_pairs),
            .messages = std::max(6'000u, queue_pairs)};
}
/// perftest: bursts on each queue pair, packets of a full MTU.
constexpr Traffic bursts(std::uint32_t queue_pairs) {
    return {.bytes = 4096,
            .queue_pairs = queue_pairs,
            .depth = 64,
            .signal_every = 16,
            .cores = 4,
            .order = Order::bursts,
            .span = 8 << 20,
            .warm_up = 64 * queue_pairs,
            .messages = std::max(4'000u, 16 * queue_pairs)};
}

constexpr std::array<std::uint32_t, 6> steps{64, 128, 256, 512, 1024, 2048};

/// The most queue pairs that still have 95 % of what few have.
Figure knee(const Profile& profile) {
    constexpr double still = 0.95;
    Figure figure;
    double plateau = 0;
    for (const auto queue_pairs : steps) {
        const auto found = measured(profile, in_turn(queue_pairs));
        plateau = std::max(plateau, found.bytes_per_s);
        if (found.bytes_per_s < still * plateau)
            break;
        figure = {.value = static_cast<double>(queue_pairs), .bottleneck = {}, .load = 0};
    }
    return figure;
}

/// The fewest queue pairs whose messages miss the cache of contexts, one in twenty.
Figure first_misses(const Profile& profile) {
    constexpr double some = 0.05;
    for (const auto queue_pairs : steps)
        if (measured(profile, in_turn(queue_pairs)).context_misses > some)
            return {.value = static_cast<double>(queue_pairs) / 2, .bottleneck = {}, .load = 0};
    return {};
}

constexpr Traffic spread(std::uint64_t span) {
    return {.bytes = 4096,
            .queue_pairs = 8,
            .depth = 16,
            .signal_every = 4,
            .span = span,
            .is_random = true,
            .warm_up = 8'000,
            .messages = 8'000};
}
constexpr std::uint64_t MiB = 1 << 20;

} // namespace

std::vector<Row> connection_rows() {
    const std::vector<std::string_view> cards{"connectx5", "connectx6dx"};
    return {
        {.id = "6.few",
         .source = source,
         .mark = Mark::secondhand,
         .what = "128 active queue pairs",
         .target = 97,
         .unit = "Gb/s",
         .profiles = cards,
         .step = 5,
         .measure = gigabits(in_turn(few))},
        {.id = "6.knee",
         .source = source,
         .mark = Mark::secondhand,
         .what = "active queue pairs at the knee",
         .target = 256,
         .unit = "QPs",
         .band = between(128, 512),
         .profiles = cards,
         .step = 5,
         .is_fitted = true,
         .measure = knee},
        {.id = "6.misses",
         .source = source,
         .mark = Mark::secondhand,
         .what = "active queue pairs from which on contexts are missed",
         .target = 256,
         .unit = "QPs",
         .band = between(128, 512),
         .profiles = cards,
         .step = 5,
         .measure = first_misses},
        {.id = "6.many",
         .source = source,
         .mark = Mark::secondhand,
         .what = "16384 active queue pairs, to 128",
         .target = 0.54,
         .unit = "x",
         .band = between(0.45, 0.65),
         .profiles = cards,
         .step = 5,
         .is_fitted = true,
         .bottlenecks = {"miss", "context"},
         .measure = ratio(gigabits(in_turn(most)), gigabits(in_turn(few)))},
        {.id = "6.bursts",
         .source = source,
         .mark = Mark::secondhand,
         .what = "1000 queue pairs in bursts of 64 packets of an MTU, to 64",
         .target = 0.95,
         .unit = "x",
         .band = at_least,
         .profiles = cards,
         .step = 5,
         .measure = ratio(gigabits(bursts(1000)), gigabits(bursts(64)))},
        {.id = "7.span",
         .source = "product brief of the ConnectX-6; uRDMA, arXiv 2510.00735",
         .mark = Mark::secondhand,
         .what = "WRITEs all over 512 MiB, to 4 MiB: the MTT cache is too small",
         .target = 0.6,
         .unit = "x",
         .band = within(20),
         .profiles = {"connectx6dx"},
         .step = 5,
         .bottlenecks = {"miss", "context"},
         .measure = ratio(gigabits(spread(512 * MiB)), gigabits(spread(4 * MiB)))},
    };
}

} // namespace calibrate

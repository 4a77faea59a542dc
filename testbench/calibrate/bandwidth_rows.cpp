// Section 4: bandwidth by size, queue pairs and outstanding READs.
#include "testbench/calibrate/figures.h"

namespace calibrate {
namespace {

constexpr std::string_view source = "user measurements: NVIDIA/nccl issue 2409, bytedance/InfiniStore PR 160";

/// ib_write_bw: 128 messages under way on each queue pair.
constexpr Traffic write(std::uint32_t bytes, std::uint32_t queue_pairs) {
    return {.bytes = bytes,
            .queue_pairs = queue_pairs,
            .depth = 128,
            .signal_every = 16,
            .order = Order::bursts,
            .span = 8 << 20,
            .warm_up = 128ull * queue_pairs,
            .messages = std::max(128ull, (16ull << 20) / bytes)};
}
Row plateau(std::string_view id, std::string_view what, double target, Band band, const Traffic& traffic) {
    return {.id = id,
            .source = source,
            .what = what,
            .target = target,
            .unit = "Gb/s",
            .band = band,
            .profiles = {"connectx7"},
            .bottlenecks = {"wire A.hca"},
            .measure = gigabits(traffic)};
}

constexpr Traffic reads(std::uint8_t outstanding) {
    return {.verb = Verb::read,
            .bytes = 1024,
            .depth = 64,
            .batch = 16,
            .signal_every = 16,
            .reads = outstanding,
            .warm_up = 200,
            .messages = 1'000};
}
constexpr Traffic large_reads(std::uint32_t queue_pairs) {
    return {.verb = Verb::read,
            .bytes = 1 << 20,
            .queue_pairs = queue_pairs,
            .depth = 16,
            .span = 8 << 20,
            .warm_up = 8,
            .messages = 32};
}

} // namespace

std::vector<Row> bandwidth_rows() {
    return {
        plateau("4.write-16k-1", "WRITE, 16 KiB, 1 queue pair", 380.0, within(10), write(16 << 10, 1)),
        plateau("4.write-128k-1", "WRITE, 128 KiB, 1 queue pair", 392.1, within(2), write(128 << 10, 1)),
        {.id = "4.write-1m-1",
         .source = source,
         .what = "WRITE, 1 MiB, 1 queue pair: a dip that the source does not explain",
         .target = 284.4,
         .unit = "Gb/s",
         .profiles = {"connectx7"},
         .missing = "whatever makes it: it is not explained"},
        plateau("4.write-16k-8", "WRITE, 16 KiB, 8 queue pairs", 391.8, within(2), write(16 << 10, 8)),
        plateau("4.write-128k-8", "WRITE, 128 KiB, 8 queue pairs", 391.8, within(2), write(128 << 10, 8)),
        plateau("4.write-1m-8", "WRITE, 1 MiB, 8 queue pairs", 391.5, within(2), write(1 << 20, 8)),
        {.id = "4.read-outstanding",
         .source = source,
         .mark = Mark::derived,
         .what = "READs of 1 KiB, four outstanding to one: four times the rate (Little)",
         .target = 4,
         .unit = "x",
         .band = within(10),
         .profiles = {"connectx5", "connectx6dx", "connectx7"},
         .measure = ratio(gigabits(reads(4)), gigabits(reads(1)))},
        {.id = "4.read-4qp",
         .source = source,
         .mark = Mark::secondhand,
         .what = "READs of 1 MiB on a port of 200 Gb/s: line rate with 4 queue pairs",
         .target = 190,
         .unit = "Gb/s",
         .band = at_least,
         .profiles = {"connectx6dx"},
         .bottlenecks = {"wire B.hca"},
         .measure = gigabits(large_reads(4), {"link.rate_gbps=200"})},
    };
}

} // namespace calibrate

// Section 3: processing units, and what one core gets out of them (F4).
#include "testbench/calibrate/figures.h"

namespace calibrate {
namespace {

constexpr std::string_view source = "Kalia et al., ATC 2016; snabb issue 1006; NVIDIA/daqiri PR 162";

/// One core of Connect-IB's host answers requests: WQEs of two lines, one at a time or in batches.
constexpr Traffic answers(std::uint32_t queue_pairs, bool is_batched) {
    return {.bytes = 60,
            .is_inline = true,
            .has_blue_flame = !is_batched,
            .queue_pairs = queue_pairs,
            .depth = 64,
            .batch = is_batched ? 16u : 1u,
            .signal_every = 16,
            .warm_up = 1'000,
            .messages = 6'000};
}
constexpr Traffic port_maximum{.bytes = 8,
                               .is_inline = true,
                               .queue_pairs = 64,
                               .depth = 64,
                               .batch = 16,
                               .signal_every = 16,
                               .cores = 32,
                               .warm_up = 8'000,
                               .messages = 30'000};
const Keys blue_flame{"hca.blue_flame=true"};

Row connect_ib(std::string_view id, std::string_view what, double target, std::string_view unit, Band band,
               Measure measure, std::vector<std::string_view> bottlenecks, bool is_fitted = false) {
    return {.id = id,
            .source = source,
            .what = what,
            .target = target,
            .unit = unit,
            .band = band,
            .profiles = {"connect-ib"},
            .step = 4,
            .is_fitted = is_fitted,
            .bottlenecks = std::move(bottlenecks),
            .measure = std::move(measure)};
}
Row raw_queues(std::string_view id, std::string_view what, double target) {
    return {.id = id,
            .source = source,
            .mark = Mark::secondhand,
            .what = what,
            .target = target,
            .unit = "Gb/s",
            .profiles = {"connectx7"},
            .step = 4,
            .missing = "send queues for plain Ethernet frames"};
}

} // namespace

std::vector<Row> unit_rows() {
    const auto unbatched = mega_messages(answers(1, false), blue_flame), two_queues = mega_messages(answers(2, true)),
               six_queues = mega_messages(answers(6, true));
    return {
        connect_ib("3.one-core", "one core, no batches", 7.0, "M/s", within(20), unbatched, {"cores"}),
        connect_ib("3.batched-2", "one core, batches, 2 queue pairs", 16.6, "M/s", within(20), two_queues, {"unit"},
                   true),
        connect_ib("3.batched-6", "one core, batches, 6 queue pairs", 27.4, "M/s", within(20), six_queues, {"cores"},
                   true),
        connect_ib("3.more-queues", "one core, no batches, 6 queue pairs to one: no gain", 1, "x", within(20),
                   ratio(mega_messages(answers(6, false), blue_flame), unbatched), {"cores"}),
        {.id = "3.one-queue",
         .source = source,
         .mark = Mark::derived,
         .what = "one core, batches, 1 queue pair: half of two, since a unit serves it",
         .target = 8.3,
         .unit = "M/s",
         .band = within(20),
         .profiles = {"connect-ib"},
         .step = 4,
         .bottlenecks = {"unit"},
         .measure = mega_messages(answers(1, true))},
        {.id = "3.port-maximum",
         .source = "product brief of the ConnectX-6; uRDMA, arXiv 2510.00735",
         .what = "messages of the port",
         .target = 215,
         .unit = "M/s",
         .profiles = {"connectx6dx"},
         .step = 4,
         .is_fitted = true,
         .bottlenecks = {"unit", "pipeline"},
         .measure = mega_messages(port_maximum, {"link.rate_gbps=200"})},
        raw_queues("3.raw-1", "plain 64 B frames, one send queue", 33.7),
        raw_queues("3.raw-2", "plain 64 B frames, two send queues", 111.8),
    };
}

} // namespace calibrate

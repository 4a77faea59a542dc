// Section 5: atomics, one behind the other by the address that they lock.
#include "testbench/calibrate/figures.h"

namespace calibrate {
namespace {

constexpr std::string_view source = "Kalia et al., ATC 2016; Husky, NSDI 2023";

constexpr Traffic counters(std::uint64_t count, std::uint64_t stride = 8) {
    return {.verb = Verb::fetch_add,
            .bytes = 8,
            .queue_pairs = 64, // the atomics of each are carried out one after the other
            .depth = 16,
            .batch = 4,
            .signal_every = 16,
            .cores = 8,
            .counters = count,
            .counter_stride = stride,
            .warm_up = 1'000,
            .messages = 4'000};
}
/// The same with each completion told, and no batches.
constexpr Traffic one_at_a_time = [] {
    auto traffic = counters(1 << 16);
    traffic.has_blue_flame = true;
    traffic.depth = 4;
    traffic.batch = 1;
    traffic.signal_every = 1;
    return traffic;
}();
constexpr Traffic writes{.bytes = 8,
                         .is_inline = true,
                         .queue_pairs = 64,
                         .depth = 64,
                         .batch = 16,
                         .signal_every = 16,
                         .cores = 32,
                         .warm_up = 8'000,
                         .messages = 20'000};
constexpr std::uint64_t many = 1 << 16;

} // namespace

std::vector<Row> atomic_rows() {
    return {
        {.id = "5.one-counter",
         .source = source,
         .what = "fetch-and-add, one counter",
         .target = 2.24,
         .unit = "M/s",
         .band = within(15),
         .profiles = {"connect-ib"},
         .step = 4,
         .is_fitted = true,
         .bottlenecks = {"atomic"},
         .measure = mega_messages(counters(1))},
        {.id = "5.many-counters",
         .source = source,
         .what = "fetch-and-add, 65536 counters",
         .target = 52,
         .unit = "M/s",
         .band = within(20),
         .profiles = {"connect-ib"},
         .step = 4,
         .measure = mega_messages(counters(many))},
        {.id = "5.same-bucket",
         .source = source,
         .what = "16 counters, apart to those with equal low 12 bits",
         .target = 1.5,
         .unit = "x",
         .band = at_least,
         .profiles = {"connect-ib"},
         .step = 4,
         .measure = ratio(mega_messages(counters(16)), mega_messages(counters(16, 4096)))},
        {.id = "5.atomics",
         .source = source,
         .mark = Mark::secondhand,
         .what = "CAS or FAA, about 5 M/s",
         .target = 5,
         .unit = "M/s",
         .band = within(20),
         .profiles = {"connectx5", "connectx6dx"},
         .step = 4,
         .is_fitted = true,
         .measure = mega_messages(one_at_a_time)},
        {.id = "5.writes",
         .source = source,
         .mark = Mark::secondhand,
         .what = "beside that, WRITEs of 8 B: more than 90 M/s",
         .target = 90,
         .unit = "M/s",
         .band = at_least,
         .profiles = {"connectx5", "connectx6dx"},
         .step = 4,
         .measure = mega_messages(writes)},
    };
}

} // namespace calibrate

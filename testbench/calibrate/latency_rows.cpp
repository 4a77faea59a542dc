// Section 1: what one message takes (F2).
#include "testbench/calibrate/figures.h"

namespace calibrate {
namespace {

constexpr std::string_view source = "linux-rdma/perftest issue 131; Kalia et al., ATC 2016";

/// ib_write_lat: 2 bytes, there and back.
constexpr Traffic write_inline{.bytes = 2,
                               .is_inline = true,
                               .has_blue_flame = true,
                               .depth = 4,
                               .is_ping_pong = true,
                               .warm_up = 50,
                               .messages = 200};
constexpr Traffic with_payload_read = [] {
    auto traffic = write_inline;
    traffic.is_inline = false;
    return traffic;
}();
constexpr Traffic with_doorbell = [] {
    auto traffic = write_inline;
    traffic.has_blue_flame = false;
    return traffic;
}();
constexpr Traffic read_one{
    .verb = Verb::read, .bytes = 2, .has_blue_flame = true, .depth = 1, .warm_up = 50, .messages = 200};
const Keys blue_flame{"hca.blue_flame=true"};
const Keys without_ddio{"hca.blue_flame=true", "host.llc=20 MiB", "host.ddio_ways=0"};

Measure latency(const Traffic& traffic) { return microseconds(traffic, blue_flame); }

} // namespace

std::vector<Row> latency_rows() {
    return {
        {.id = "1.write-inline",
         .source = source,
         .what = "WRITE, inline, half a ping-pong",
         .target = 0.93,
         .unit = "us",
         .band = within(15),
         .profiles = {"connectx5"},
         .step = 2,
         .is_fitted = true,
         .measure = latency(write_inline)},
        {.id = "1.read",
         .source = source,
         .what = "READ, posted until completed",
         .target = 1.91,
         .unit = "us",
         .band = within(15),
         .profiles = {"connectx5"},
         .step = 2,
         .is_fitted = true,
         .measure = latency(read_one)},
        {.id = "1.write",
         .source = source,
         .what = "WRITE, not inline, half a ping-pong",
         .target = 1.32,
         .unit = "us",
         .band = within(15),
         .profiles = {"connectx5"},
         .step = 2,
         .measure = latency(with_payload_read)},
        {.id = "1.payload-read",
         .source = source,
         .mark = Mark::derived,
         .what = "not inline less inline: one read of the payload",
         .target = 0.39,
         .unit = "us",
         .band = within(20),
         .profiles = {"connectx5"},
         .step = 2,
         .measure = difference(latency(with_payload_read), latency(write_inline))},
        {.id = "1.read-less-write",
         .source = source,
         .mark = Mark::derived,
         .what = "READ less WRITE that is not inline",
         .target = 0.59,
         .unit = "us",
         .band = within(20),
         .profiles = {"connectx5"},
         .step = 2,
         .measure = difference(latency(read_one), latency(with_payload_read))},
        {.id = "1.write-ddio-off",
         .source = source,
         .what = "WRITE, not inline, DDIO off",
         .target = 1.32,
         .unit = "us",
         .band = within(15),
         .profiles = {"connectx5"},
         .measure = microseconds(with_payload_read, without_ddio)},
        {.id = "1.doorbell",
         .source = source,
         .what = "doorbell less BlueFlame: one read of the WQE, up to 1 us",
         .target = 1.0,
         .unit = "us",
         .band = at_most,
         .profiles = {"connect-ib"},
         .step = 2,
         .measure = difference(latency(with_doorbell), latency(write_inline))},
        {.id = "1.connectx6",
         .source = "product brief of the ConnectX-6; uRDMA, arXiv 2510.00735",
         .what = "latency: below 0.8 us",
         .target = 0.8,
         .unit = "us",
         .band = at_most,
         .profiles = {"connectx6dx"},
         .step = 2,
         .is_fitted = true,
         .measure = latency(write_inline)},
        {.id = "1.small-cx5",
         .source = source,
         .mark = Mark::memory,
         .what = "small ping-pong",
         .target = 0.8,
         .unit = "us",
         .band = within(15),
         .profiles = {"connectx5"},
         .measure = latency(write_inline)},
        {.id = "1.small-cx6",
         .source = source,
         .mark = Mark::memory,
         .what = "small ping-pong",
         .target = 0.775,
         .unit = "us",
         .band = between(0.75, 0.8),
         .profiles = {"connectx6dx"},
         .measure = latency(write_inline)},
        {.id = "1.small-cx7",
         .source = source,
         .mark = Mark::memory,
         .what = "small ping-pong",
         .target = 0.7,
         .unit = "us",
         .band = between(0.6, 0.8),
         .profiles = {"connectx7"},
         .measure = latency(write_inline)},
    };
}

} // namespace calibrate

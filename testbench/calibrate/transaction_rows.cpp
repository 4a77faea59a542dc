// Section 2: bytes on PCIe by verb and method, and the rates that they bound (F3). Connect-IB on gen3 x16 with many
// cores on either side; the requests of the publication's UD come from queue pairs of RC here, with WQEs of as many
// lines.
#include "testbench/calibrate/figures.h"

namespace calibrate {
namespace {

constexpr std::string_view source = "Kalia, Kaminsky, Andersen, ATC 2016";
constexpr std::uint32_t cores = 16, queue_pairs = 32; ///< of which each has 32 messages under way at most

/// Inline WRITEs whose WQE has one line of 64 bytes (up to 28 bytes) or two.
constexpr Traffic one_line{.bytes = 28,
                           .is_inline = true,
                           .has_blue_flame = true,
                           .queue_pairs = queue_pairs,
                           .depth = 32,
                           .signal_every = 16,
                           .cores = cores,
                           .warm_up = 5'000,
                           .messages = 20'000};
constexpr Traffic two_lines = [] {
    auto traffic = one_line;
    traffic.bytes = 60;
    return traffic;
}();
constexpr Traffic just_two_lines = [] {
    auto traffic = one_line;
    traffic.bytes = 29;
    return traffic;
}();
constexpr Traffic batches = [] {
    auto traffic = two_lines;
    traffic.has_blue_flame = false;
    traffic.batch = 16;
    traffic.depth = 128; // so that batches are posted while others are under way
    return traffic;
}();
constexpr Traffic batches_of_10 = [] {
    auto traffic = batches;
    traffic.batch = 10;
    traffic.depth = 60;
    traffic.signal_every = 10;
    return traffic;
}();
constexpr Traffic reads = [] {
    auto traffic = batches;
    traffic.verb = Verb::read;
    traffic.bytes = 8;
    traffic.is_inline = false;
    return traffic;
}();
/// Receives with a payload, and with nothing but a completion.
constexpr Traffic sends = [] {
    auto traffic = one_line;
    traffic.verb = Verb::send;
    traffic.bytes = 32;
    return traffic;
}();
constexpr Traffic empty_sends = [] {
    auto traffic = sends;
    traffic.bytes = 0;
    return traffic;
}();
constexpr Traffic sends_of_two_lines = [] {
    auto traffic = sends;
    traffic.bytes = 60;
    return traffic;
}();

const Keys blue_flame{"hca.blue_flame=true"};
constexpr std::string_view stores = "store", downstream = "A.hca PCIe downstream", units = "unit",
                           pipeline = "pipeline";

Row rate(std::string_view id, std::string_view what, double target, Measure measure,
         std::vector<std::string_view> bottlenecks, bool is_fitted = false) {
    return {.id = id,
            .source = source,
            .what = what,
            .target = target,
            .unit = "M/s",
            .profiles = {"connect-ib"},
            .step = 3,
            .is_fitted = is_fitted,
            .bottlenecks = std::move(bottlenecks),
            .measure = std::move(measure)};
}
Row bytes(std::string_view id, std::string_view what, double target, Measure measure) {
    return {.id = id,
            .source = source,
            .what = what,
            .target = target,
            .unit = "B",
            .profiles = {"connect-ib"},
            .step = 3,
            .measure = std::move(measure)};
}
Row comparison(std::string_view id, std::string_view what, double target, Band band, Measure measure,
               std::vector<std::string_view> bottlenecks = {}) {
    return {.id = id,
            .source = source,
            .what = what,
            .target = target,
            .unit = "x",
            .band = band,
            .profiles = {"connect-ib"},
            .step = 3,
            .bottlenecks = std::move(bottlenecks),
            .measure = std::move(measure)};
}

} // namespace

std::vector<Row> transaction_rows() {
    const auto inbound = mega_messages(one_line, blue_flame);
    return {
        bytes("2.bytes-blueflame", "to the card, 10 WQEs of 65 B by BlueFlame", 1800,
              one(two_lines, &Measured::downstream_bytes, 10, blue_flame)),
        bytes("2.bytes-doorbell", "to the card, 10 WQEs of 65 B by one doorbell", 1534,
              one(batches_of_10, &Measured::downstream_bytes, 10)),
        rate("2.ud-blueflame", "SEND, WQEs of two lines, one at a time", 80, mega_messages(two_lines, blue_flame),
             {stores}, true),
        rate("2.ud-doorbell", "SEND, WQEs of two lines, batches of 16", 101.6, mega_messages(batches), {downstream},
             true),
        rate("2.write", "WRITE over 28 B, outbound", 80, mega_messages(two_lines, blue_flame), {stores}),
        rate("2.read", "READ, outbound", 88, mega_messages(reads), {units, pipeline}, true),
        rate("2.write-inbound", "WRITE, inbound", 122, inbound, {units, pipeline}),
        rate("2.receive", "RECV with payload", 82, mega_messages(sends, blue_flame), {}, true),
        comparison("2.receive-ratio", "WRITE inbound, to RECV with payload: one DMA write, to two", 1.49, within(10),
                   ratio(inbound, mega_messages(sends, blue_flame))),
        comparison("2.header-only", "SEND of one line, to one of two", 1.54, within(10),
                   ratio(mega_messages(empty_sends, blue_flame), mega_messages(sends_of_two_lines, blue_flame))),
        {.id = "2.step",
         .source = source,
         .mark = Mark::derived,
         .what = "inline WRITE of 28 B, to one of 29 B: the rate steps",
         .target = 1.2,
         .unit = "x",
         .band = at_least,
         .profiles = {"connect-ib"},
         .step = 3,
         .measure = ratio(inbound, mega_messages(just_two_lines, blue_flame))},
    };
}

} // namespace calibrate

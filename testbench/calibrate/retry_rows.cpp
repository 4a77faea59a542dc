// Section 9: a peer that does not answer, and the time that a requester gives it (F6).
#include "testbench/calibrate/row.h"
#include "testbench/calibrate/silence.h"

#include <array>
#include <stdexcept>

namespace calibrate {
namespace {

constexpr std::string_view source = "recovery of ConnectX-6 over RoCE, counters polled (lab log, 2026)";

/// The publication's: timeout exponent 17, 7 retries.
Patience silent(const Profile& profile, bool is_adaptive) {
    const std::array<std::string_view, 2> keys{"link.loss=1", is_adaptive ? "hca.adaptive_retransmission=true"
                                                                          : "hca.adaptive_retransmission=false"};
    const auto found = measure(profile.with(keys), Silence{});
    if (!found)
        throw std::runtime_error("the measurement has come to no end");
    return *found;
}

} // namespace

std::vector<Row> retry_rows() {
    return {
        {.id = "9.interval",
         .source = source,
         .what = "local_ack_timeout_err, from one to the next: 4.096 us x 2^17",
         .target = 536.9,
         .unit = "ms",
         .band = within(1),
         .profiles = {"connectx6dx"},
         .step = 6,
         .measure = [](const Profile& profile) { return Figure{silent(profile, false).interval_ms, {}, 0}; }},
        {.id = "9.specification",
         .source = source,
         .mark = Mark::derived,
         .what = "adaptive retransmission off, posted until completed: 8 intervals, up to four times that",
         .target = 4295,
         .unit = "ms",
         .band = between(4294, 4 * 4296),
         .profiles = {"connectx6dx"},
         .step = 6,
         .measure = [](const Profile& profile) { return Figure{silent(profile, false).total_ms, {}, 0}; }},
        {.id = "9.adaptive",
         .source = source,
         .what = "roce_adp_retrans, first to eighth",
         .target = 518.2,
         .unit = "ms",
         .band = within(1),
         .profiles = {"connectx6dx"},
         .step = 6,
         .is_fitted = true,
         .measure =
             [](const Profile& profile) {
                 const auto found = silent(profile, true);
                 constexpr unsigned published = 8;
                 if (found.adaptive != published)
                     throw std::runtime_error("there were not eight of them");
                 return Figure{found.adaptive_ms, {}, 0};
             }},
        {.id = "9.total",
         .source = source,
         .what = "posted until completed, adaptive retransmission on",
         .target = 3742,
         .unit = "ms",
         .band = within(2),
         .profiles = {"connectx6dx"},
         .step = 6,
         .measure = [](const Profile& profile) { return Figure{silent(profile, true).total_ms, {}, 0}; }},
    };
}

} // namespace calibrate

#include "testbench/hcasim/traffic_json.h"

#include <fmt/format.h>

#include <cmath>

namespace hcasim {
namespace {

using platform::observe::files::JsonObject;

void append_count(JsonObject& json, std::uint64_t messages, std::uint64_t bytes, std::int64_t picoseconds) {
    json.add("messages", messages)
        .add("bytes", bytes)
        .add("messages_per_second", per_second(messages, picoseconds))
        .add("rate_bytes_per_second", per_second(bytes, picoseconds));
}

void append_latency(JsonObject& json, const scenario::Latency& latency) {
    const auto add = [&](std::string_view name, std::int64_t nanoseconds) {
        if (latency.samples == 0)
            json.add(name, json_null);
        else
            json.add(name, nanoseconds);
    };
    json.add("latency_mean_ns", latency.samples == 0 ? json_null : latency.mean_ns);
    add("latency_min_ns", latency.least_ns);
    add("latency_p50_ns", latency.p50_ns);
    add("latency_p90_ns", latency.p90_ns);
    add("latency_p99_ns", latency.p99_ns);
    add("latency_p99_9_ns", latency.p999_ns);
    add("latency_max_ns", latency.most_ns);
}

template <class Row> void append_faults(JsonObject& json, const Row& row) {
    json.add("retries", row.retries)
        .add("timeouts", row.timeouts)
        .add("rnr_waits", row.rnr_waits)
        .add("naks", row.naks)
        .add("packets_dropped", row.packets_dropped)
        .add("packets_marked", row.packets_marked)
        .add("cnps", row.cnps)
        .add("window_cuts", row.window_cuts)
        .add("window_waits_ns", row.window_waits_ps / 1000);
    if (row.round_trip_ps)
        json.add("round_trip_ns", *row.round_trip_ps / 1000);
    else
        json.add("round_trip_ns", json_null);
    json.add("pauses", row.pauses)
        .add("switch_drops", row.switch_drops)
        .add("credit_waits_ns", row.credit_waits_ps / 1000)
        .add("bottleneck", row.bottleneck)
        .add("load", row.load);
}

void append_shares(JsonObject& json, const scenario::Interval& part) {
    json.add("flows", part.shares ? part.shares->flows : 0);
    const auto rate = [&](std::uint64_t bytes) { return per_second(bytes, part.end_ps - part.begin_ps); };
    json.add("fairness", part.shares ? part.shares->fairness : json_null)
        .add("slowest_flow_bytes_per_second", part.shares ? rate(part.shares->least) : json_null)
        .add("fastest_flow_bytes_per_second", part.shares ? rate(part.shares->most) : json_null);
}

} // namespace

double per_second(std::uint64_t count, std::int64_t picoseconds) {
    return picoseconds <= 0 ? json_null : static_cast<double>(count) * 1e12 / static_cast<double>(picoseconds);
}

void append_traffic(JsonObject& json, const scenario::Result& result) {
    json.begin_list("traffic");
    const auto elapsed = result.traffic ? result.traffic->elapsed_ps : 0;
    if (result.traffic) {
        const auto& all = *result.traffic;
        json.begin_item().add("name", "all");
        append_count(json, all.messages, all.bytes, elapsed);
        append_latency(json, all.latency);
        json.add("begin_ns", all.begin_ps / 1000)
            .add("elapsed_ns", elapsed / 1000)
            .add("rate_error", all.rate_error.value_or(json_null))
            .add("fairness", all.fairness)
            .add("checked", all.checked);
        auto lowest = json_null; // NaN: of the intervals there is none
        for (const auto& part : result.intervals)
            lowest = std::fmin(lowest, per_second(part.bytes, part.end_ps - part.begin_ps));
        json.add("lowest_rate_bytes_per_second", lowest);
        if (all.settled_ps)
            json.add("settled_ns", *all.settled_ps / 1000);
        else
            json.add("settled_ns", json_null);
        if (all.is_open_loop)
            json.add("offered", all.offered).add("unposted", all.unposted);
        else
            json.add("offered", json_null).add("unposted", json_null);
        append_faults(json, all);
        json.end();
    }
    json.end().begin_list("operations");
    for (const auto& one : result.operations) {
        json.begin_item()
            .add("name", one.name)
            .add("operations", one.count)
            .add("operations_per_second", per_second(one.count, one.elapsed_ps))
            .add("ranks", one.ranks)
            .add("bytes", one.bytes)
            .add("time_ns", one.time_ns > 0 ? one.time_ns : json_null)
            .add("algorithm_bytes_per_second", one.algorithm_bandwidth > 0 ? one.algorithm_bandwidth : json_null)
            .add("bus_bytes_per_second", one.bus_bandwidth > 0 ? one.bus_bandwidth : json_null)
            .add("repeated", one.repeated);
        append_latency(json, one.latency);
        json.end();
    }
    json.end().begin_list("flows");
    for (const auto& flow : result.flows) {
        json.begin_item().add("name", flow.name);
        append_count(json, flow.messages, flow.bytes, elapsed);
        append_latency(json, flow.latency);
        json.end();
    }
    json.end().begin_list("intervals");
    for (std::size_t i = 0; i < result.intervals.size(); ++i) {
        const auto& part = result.intervals[i];
        json.begin_item()
            .add("name", fmt::to_string(i))
            .add("begin_ns", part.begin_ps / 1000)
            .add("end_ns", part.end_ps / 1000);
        append_count(json, part.messages, part.bytes, part.end_ps - part.begin_ps);
        append_latency(json, part.latency);
        append_faults(json, part);
        append_shares(json, part);
        json.end();
    }
    json.end().begin_list("held_back");
    for (const auto& one : result.held_back)
        json.begin_item()
            .add("name", one.name)
            .add("time_ns", one.time_ps / 1000)
            .add("share", elapsed > 0 ? static_cast<double>(one.time_ps) / static_cast<double>(elapsed) : json_null)
            .end();
    json.end();
}

} // namespace hcasim

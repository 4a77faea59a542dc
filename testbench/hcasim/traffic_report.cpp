#include "testbench/hcasim/traffic_report.h"

#include "testbench/hcasim/table.h"
#include "testbench/program/console.h"
#include "testbench/program/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace hcasim {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t most_flows = 8;
constexpr double mentioned_error = 0.05; ///< of rates: less is within what a person reads from them

std::string print_message_rate(std::uint64_t messages, std::int64_t picoseconds) {
    if (picoseconds <= 0)
        return "-";
    return fmt::format("{:.4g} M/s", static_cast<double>(messages) * 1e6 / static_cast<double>(picoseconds));
}
std::string print_bit_rate(std::uint64_t bytes, std::int64_t picoseconds) {
    if (picoseconds <= 0)
        return "-";
    return fmt::format("{:.4g} Gb/s", static_cast<double>(bytes) * 8000 / static_cast<double>(picoseconds));
}

void append(Rows& rows, std::string name, std::uint64_t messages, std::uint64_t bytes, std::int64_t picoseconds,
            const scenario::Latency& latency) {
    std::vector<std::string> row{std::move(name), print_count(messages), print_count(bytes),
                                 print_message_rate(messages, picoseconds), print_bit_rate(bytes, picoseconds)};
    for (const auto time : {latency.p50_ns, latency.p90_ns, latency.p99_ns, latency.p999_ns, latency.most_ns})
        row.push_back(latency.samples == 0 ? "-" : print_time(time * 1000));
    rows.push_back(std::move(row));
}

Rows head(std::string what) {
    return {{std::move(what), "messages", "bytes", "message rate", "data rate", "p50", "p90", "p99", "p99.9", "max"}};
}

/// All of them, or those that had the least and the most.
void append_flows(Rows& rows, const scenario::Result& result, std::int64_t elapsed) {
    std::vector<std::size_t> order(result.flows.size());
    std::iota(order.begin(), order.end(), 0);
    const auto add = [&](std::size_t i) {
        const auto& flow = result.flows[order[i]];
        append(rows, flow.name, flow.messages, flow.bytes, elapsed, flow.latency);
    };
    if (order.size() <= most_flows) {
        for (std::size_t i = 0; i < order.size(); ++i)
            add(i);
        return;
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return result.flows[i].bytes; });
    for (std::size_t i = 0; i < most_flows / 2; ++i)
        add(i);
    rows.push_back({fmt::format("({} flows between)", print_count(order.size() - most_flows)), "", "", "", "", "", "",
                    "", "", ""});
    for (std::size_t i = order.size() - most_flows / 2; i < order.size(); ++i)
        add(i);
}

std::string print_bandwidth(double bytes_per_second) {
    return bytes_per_second > 0 ? fmt::format("{:.4g} Gb/s", bytes_per_second * 8e-9) : "-";
}

/// How equally flows have shared, over time; empty where nobody has followed them.
std::string print_sharing(const scenario::Result& result, const Look& look) {
    double least = 1;
    bool is_known = false;
    for (const auto& part : result.intervals)
        if (part.shares && part.shares->flows > 1)
            least = std::min(least, part.shares->fairness), is_known = true;
    if (!is_known)
        return {};
    return wrap(fmt::format("  of the intervals the least fair one had {:.3f}; {}\n", least,
                            result.traffic->settled_ps
                                ? fmt::format("all flows had an equal share, to 10 %, from {} after the last one had "
                                              "joined on",
                                              print_time(*result.traffic->settled_ps))
                                : "not all flows had an equal share, to 10 %, until the end"),
                look.width);
}

} // namespace

std::string print_operations(const scenario::Result& result, const Look& look) {
    Rows rows{{"operation", "times", "bytes", "time each", "algorithm", "bus", "again", "p50", "p99", "p99.9", "max"}};
    for (const auto& one : result.operations) {
        rows.push_back({one.name, print_count(one.count), print_count(one.bytes),
                        one.time_ns > 0 ? print_time(std::llround(one.time_ns * 1000)) : "-",
                        print_bandwidth(one.algorithm_bandwidth), print_bandwidth(one.bus_bandwidth),
                        print_count(one.repeated)});
        for (const auto time : {one.latency.p50_ns, one.latency.p99_ns, one.latency.p999_ns, one.latency.most_ns})
            rows.back().push_back(one.latency.samples == 0 ? "-" : print_time(time * 1000));
    }
    return print_table(rows, look.width);
}

std::string print_traffic(const scenario::Result& result, const Look& look) {
    const auto& all = *result.traffic;
    auto rows = head("flow");
    append_flows(rows, result, all.elapsed_ps);
    append(rows, "all", all.messages, all.bytes, all.elapsed_ps, all.latency);
    auto text = print_table(rows, look.width);

    if (!result.operations.empty())
        text += "\n" + print_operations(result, look);

    rows = head("interval");
    for (auto& word : rows.front())
        if (word == "max")
            word = "bottleneck";
    for (const auto& part : result.intervals) {
        append(rows, fmt::format("from {}", print_time(part.begin_ps - all.begin_ps)), part.messages, part.bytes,
               part.end_ps - part.begin_ps, part.latency);
        rows.back().back() = fmt::format("{} {:.0f} %", part.bottleneck, part.load * 100);
    }
    text += "\n" + print_table(rows, look.width);

    std::string held;
    for (const auto& one : result.held_back)
        held += fmt::format("{}{} for {} of {}", held.empty() ? "" : ", ", one.name, print_time(one.time_ps),
                            print_time(all.elapsed_ps));
    text += wrap(fmt::format("\n  bottleneck: {}; over all {} ({}{:.0f} %)\n", held.empty() ? "none" : held,
                             all.bottleneck.empty() ? "none" : all.bottleneck,
                             all.bottleneck == "latency" ? "the busiest resource " : "", all.load * 100),
                 look.width);
    if (all.rate_error.value_or(0) > mentioned_error)
        text +=
            wrap(fmt::format("  rates may be wrong by {:.0f} %: queue pairs tell of several messages at a time, and "
                             "few were measured; choose more (traffic.messages, traffic.duration_ns) or a smaller "
                             "traffic.signal_every\n",
                             *all.rate_error * 100),
                 look.width);
    text +=
        wrap(fmt::format("  fairness (Jain) {:.3f}; {} messages looked at where they arrived; in the measured time {} "
                         "retries, {} time-outs, {} NAKs, {} RNR pauses, {} packets dropped by cards and {} by "
                         "switches, {} marked, {} CNPs, {} PFC frames, {} without credit\n",
                         all.fairness, print_count(all.checked), all.retries, all.timeouts, all.naks, all.rnr_waits,
                         all.packets_dropped, all.switch_drops, all.packets_marked, all.cnps, all.pauses,
                         print_time(all.credit_waits_ps)),
             look.width);
    text += print_sharing(result, look);
    if (all.round_trip_ps)
        text += wrap(
            fmt::format("  congestion windows: round trips of {} on average, {} times made smaller; queue pairs "
                        "waited for theirs {} in all\n",
                        print_time(*all.round_trip_ps), print_count(all.window_cuts), print_time(all.window_waits_ps)),
            look.width);
    if (all.is_open_loop)
        text +=
            wrap(fmt::format("  open loop: {} messages arrived, {} of them were not posted when the time was over\n",
                             print_count(all.offered), print_count(all.unposted)),
                 look.width);
    return text + wrap("  times: from posted (or to be posted) until the completion was polled; of a ping-pong half of "
                       "the time there and back\n",
                       look.width);
}

} // namespace hcasim

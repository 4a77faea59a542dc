#include "testbench/hcasim/report.h"

#include "testbench/hcasim/drawing.h"
#include "testbench/hcasim/table.h"
#include "testbench/hcasim/traffic_report.h"
#include "testbench/program/console.h"
#include "testbench/program/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace hcasim {
namespace {

using platform::observe::life::Life;

std::string pcie(const platform::topology::PcieLinkConfig& link) {
    return fmt::format("Gen{} x{}", link.generation, link.width);
}

std::string_view name_of(model::port::Encapsulation encapsulation) {
    switch (encapsulation) {
    case model::port::Encapsulation::roce_v2_ipv4: return "RoCEv2 over IPv4";
    case model::port::Encapsulation::roce_v2_ipv6: return "RoCEv2 over IPv6";
    case model::port::Encapsulation::infiniband: return "InfiniBand";
    }
    return "";
}

void append_transfers(std::vector<std::vector<std::string>>& rows, const scenario::Result& result) {
    rows.push_back({"transfer", "bytes", "messages", "packets", "completions", "errors", "retries", "simulated", "rate",
                    "bottleneck", "wall", "SHA-256"});
    for (const auto& t : result.transfers)
        rows.push_back({t.name, print_count(t.bytes), print_count(t.messages), print_count(t.packets),
                        print_count(t.completions_ok), print_count(t.completions_error), print_count(t.retries),
                        print_time(t.sim_time_ps), print_rate(t.bytes, t.sim_time_ps),
                        t.bottleneck.empty() ? "-" : fmt::format("{} {:.0f} %", t.bottleneck, t.load * 100),
                        fmt::format("{:.3f} s", t.wall_seconds),
                        t.verified                ? "equal"
                        : t.sha256_target.empty() ? "not reached"
                                                  : "DIFFERENT"});
}

/// How many rows of a table say what a person wants to know; the others are in the JSON file.
constexpr std::size_t most_rows = 100;

/// All of them, or where there are too many those with the largest score, in their order.
template <class Row, class Score> std::vector<const Row*> the_most(const std::vector<Row>& all, Score&& score) {
    std::vector<const Row*> shown;
    for (const auto& row : all)
        shown.push_back(&row);
    if (all.size() > most_rows) {
        std::ranges::stable_sort(shown, std::greater{}, [&](const Row* row) { return score(*row); });
        shown.resize(most_rows / 2);
        std::ranges::sort(shown);
    }
    return shown;
}

/// The same as rows of a table, and one that says how many are left out. `print(row)` makes cells; the first has a
/// name.
template <class Row, class Score, class Print>
void append_most(std::vector<std::vector<std::string>>& rows, const std::vector<Row>& all, Score&& score,
                 Print&& print) {
    const auto shown = the_most(all, score);
    for (const auto* row : shown)
        rows.push_back(print(*row));
    if (shown.size() < all.size()) {
        rows.emplace_back(rows.front().size(), "");
        rows.back().front() = fmt::format("({} with less)", print_count(all.size() - shown.size()));
    }
}

using platform::observe::count::QueueCounts;

std::vector<std::string> print_counts(std::string name, const QueueCounts& counts) {
    std::vector<std::string> row{std::move(name)};
    for (const auto member :
         {&QueueCounts::requests, &QueueCounts::requests_again, &QueueCounts::bytes, &QueueCounts::completions_ok,
          &QueueCounts::completions_error, &QueueCounts::deepest, &QueueCounts::armed, &QueueCounts::events})
        row.push_back(counts.*member ? print_count(*(counts.*member)) : "-");
    return row;
}

/// The busiest of each card and kind, and what the others have together.
std::string print_queues(const platform::observe::count::QueueReport& queues, const Look& look) {
    constexpr std::size_t most = 8;
    std::vector<std::vector<std::string>> rows{
        {"queue", "requests", "again", "bytes", "completions", "errors", "deepest", "armed", "events"}};
    for (const auto& sum : queues.sums) {
        auto others = sum.counts;
        others.deepest.reset();
        std::size_t shown = 0;
        for (const auto& queue : queues.busiest) {
            if (queue.card != sum.card || queue.kind != sum.kind || shown == most)
                continue;
            ++shown;
            rows.push_back(print_counts(queue.name, queue.counts));
            for (const auto member : {&QueueCounts::requests, &QueueCounts::requests_again, &QueueCounts::bytes,
                                      &QueueCounts::completions_ok, &QueueCounts::completions_error,
                                      &QueueCounts::armed, &QueueCounts::events})
                if (others.*member)
                    *(others.*member) -= (queue.counts.*member).value_or(0);
        }
        if (sum.queues > shown)
            rows.push_back(print_counts(fmt::format("and {} more", print_count(sum.queues - shown)), others));
    }
    if (rows.size() == 1)
        return "";
    return "\n" + print_table(rows, look.width) +
           wrap("  deepest: most work requests under way at once; most completions from one arm to the next\n",
                look.width);
}

/// What decides the times of devices, and what held each of them back.
std::string print_resources(const scenario::Result& result, const Look& look) {
    if (result.resources.empty())
        return "";
    std::vector<std::vector<std::string>> rows{
        {"resource", "kind", "units", "uses", "bytes", "busy", "load", "waited", "longest wait"}};
    append_most(
        rows, result.resources, [](const auto& r) { return r.load; },
        [](const auto& r) -> std::vector<std::string> {
            return {r.name,
                    r.kind,
                    print_count(r.units),
                    print_count(r.uses),
                    r.kind == "line" ? print_count(r.bytes) : "-",
                    print_time(r.busy_ps),
                    fmt::format("{:.1f} %", r.load * 100),
                    print_time(r.waited_ps),
                    print_time(r.longest_wait_ps)};
        });
    auto text = "\n" + print_table(rows, look.width);
    const auto shown = the_most(result.bottlenecks, [](const auto& one) { return one.load; });
    for (const auto* device : shown) {
        const auto& one = *device;
        const auto busiest = one.busiest.empty() ? "nothing took time"
                                                 : fmt::format("busiest: {} ({:.1f} %)", one.busiest, one.load * 100);
        const auto waited = one.waited_for.empty()
                                ? "nobody waited"
                                : fmt::format("waited for most: {} ({})", one.waited_for, print_time(one.waited_ps));
        text += wrap(fmt::format("  {}: {}; {}\n", one.device, busiest, waited), look.width);
    }
    if (shown.size() < result.bottlenecks.size())
        text += fmt::format("  ({} devices with less)\n", print_count(result.bottlenecks.size() - shown.size()));
    return text +
           wrap("  busy: summed over the units; load: share of the run; waited: summed over the users\n", look.width);
}

} // namespace

std::string print_steps(const scenario::Result& result, const Look& look) {
    std::vector<std::vector<std::string>> rows{
        {"step", "A's request ended with", "B heard", "bytes", "landed", "simulated", ""}};
    for (const auto& s : result.steps)
        rows.push_back({s.name, s.ended_with, s.owner_heard.empty() ? "-" : s.owner_heard, print_count(s.bytes),
                        print_count(s.landed), print_time(s.sim_time_ps), s.verified ? "verified" : "NOT VERIFIED"});
    auto text = result.way.empty() ? "" : fmt::format("  {}\n\n", result.way);
    text += print_table(rows, look.width);
    rows = {
        {"payload by way", "direct", "redirected", "host memory", "A.upstream up", "down", "B.upstream up", "down"}};
    for (const auto& s : result.steps)
        rows.push_back({s.name, print_count(s.direct_bytes), print_count(s.redirected_bytes), print_count(s.host_bytes),
                        print_count(s.upstream[0].up), print_count(s.upstream[0].down), print_count(s.upstream[1].up),
                        print_count(s.upstream[1].down)});
    text += "\n" + print_table(rows, look.width);
    return text + "  direct, redirected, host memory: payload that the cards moved, with what was sent again; "
                  "upstream: all data on the\n"
                  "  link between switch and root complex, with what an exporter copies\n";
}

std::string print_laboratory(const scenario::Result& result, const Look& look) {
    std::vector<std::vector<std::string>> rows{
        {"row", "observed", "queues and doorbells", "poll", "beside it", "outcome", "as it must"}};
    for (const auto& one : result.laboratory)
        rows.push_back({one.row, one.cites.empty() ? "-" : one.cites, one.setup, one.load, one.flush, one.outcome,
                        one.agrees ? "yes" : "NO: " + one.expected});
    auto text = "\n" + print_table(rows, look.width);
    for (const auto& one : result.laboratory)
        if (!one.explanation.empty())
            text += wrap(fmt::format("  {}: {}\n", one.row, one.explanation), look.width);
    return text;
}

std::string print_topology(const platform::topology::Config& config) {
    if (!config.is_pair() || !config.exceptions.empty())
        return draw_text(platform::topology::describe(config).value());
    const auto vram = print_bytes(config.gpu.vram_bytes), up = pcie(config.upstream_link),
               device = pcie(config.device_link);
    const auto cable = fmt::format("{}, {}{}", name_of(config.link.encapsulation),
                                   config.link.rate_gbps > 0 ? fmt::format("{:g} Gbit/s, ", config.link.rate_gbps) : "",
                                   print_time(config.link.latency.count()));
    const auto middle = fmt::format("switch -- {0} -- HCA ===== {1} ===== HCA -- {0} -- switch", device, cable);
    std::string text;
    const auto row = [&](const std::string& left, const std::string& right) {
        const auto gap = middle.size() + 6 - std::min(middle.size() + 6, left.size() + right.size());
        const auto line = fmt::format("  {}{:{}}{}", left, "", std::max<std::size_t>(gap, 2), right);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    };
    row("host A", "host B");
    row("root complex -- DRAM " + print_bytes(config.hosts[0].memory_bytes),
        "DRAM " + print_bytes(config.hosts[1].memory_bytes) + " -- root complex");
    row("     | " + up, up + " |     ");
    text += "     " + middle + "\n";
    row("     | " + device, device + " |     ");
    row("    GPU, VRAM " + vram, "VRAM " + vram + ", GPU    ");
    return text;
}

std::string print_life(const Life& life, const platform::observe::Sources& sources, const Look& look) {
    if (!life.has_begun())
        return "  no WRITE was seen\n";
    const auto stages = Life::stages();
    const auto& first = life.seen(0) ? life.seen(0) : life.seen(2);
    std::string text = fmt::format("  {:>2}  {:<15} {:<10} {:<18} {:>14} {:>12}  {}\n", "#", "room", "where", "event",
                                   "time", "since start", "facts");
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const auto& entry = life.seen(i);
        const auto event = platform::observe::event_names[stages[i].type];
        if (!entry) {
            text += fmt::format("  {:>2}  {:<15} {:<10} {:<18} {:>14}\n", i + 1, stages[i].room, "", event, "not seen");
            continue;
        }
        const auto time = entry->stamp.time_ps, since = time - first->stamp.time_ps;
        const auto line = fmt::format("  {:>2}  {:<15} {:<10} {:<18} {:>11.3f} ns {:>9.3f} ns", i + 1, stages[i].room,
                                      sources.name(entry->stamp.source), event, static_cast<double>(time) / 1000,
                                      static_cast<double>(since) / 1000);
        const auto facts = platform::observe::describe(entry->event);
        const bool fits = look.width == 0 || line.size() + 2 + facts.size() <= look.width;
        text += fmt::format("{}{}{}\n", line, fits ? "  " : "\n      ", facts);
    }
    return text;
}

std::string print_result(const scenario::Result& result, const Look& look) {
    std::string text;
    std::vector<std::vector<std::string>> rows;
    if (!result.steps.empty())
        text += print_steps(result, look);
    if (result.traffic)
        text += print_traffic(result, look);
    if (!result.transfers.empty() || (result.steps.empty() && !result.traffic)) {
        append_transfers(rows, result);
        text += print_table(rows, look.width);
        if (!result.operations.empty() && !result.traffic) // which has them already
            text += "\n" + print_operations(result, look);
    }

    if (!result.found.empty())
        text += fmt::format("\n  {}\n", printable(result.found));
    if (!result.laboratory.empty())
        text += print_laboratory(result, look);

    rows = {{"wire", "packets", "bytes", "lost", "duplicated", "reordered", "corrupted"}};
    append_most(
        rows, result.wires, [](const auto& w) { return w.bytes; },
        [](const auto& w) -> std::vector<std::string> {
            return {w.name,
                    print_count(w.packets),
                    print_count(w.bytes),
                    print_count(w.lost),
                    print_count(w.duplicated),
                    print_count(w.reordered),
                    print_count(w.corrupted)};
        });
    text += rows.size() > 1 ? "\n" + print_table(rows, look.width) : "";

    rows = {{"failure", "at", "until", "lost", "discarded"}};
    for (const auto& f : result.failures)
        rows.push_back({f.name, print_time(f.at_ps), f.until_ps ? print_time(*f.until_ps) : "-", print_count(f.lost),
                        print_count(f.discarded)});
    text += rows.size() > 1 ? "\n" + print_table(rows, look.width) : "";

    rows = {{"PCIe link", "TLPs up", "bytes up", "payload up", "TLPs down", "bytes down", "payload down", "busy up",
             "busy down"}};
    append_most(
        rows, result.pcie_links, [](const auto& l) { return l.bytes_up + l.bytes_down; },
        [](const auto& l) -> std::vector<std::string> {
            return {l.name,
                    print_count(l.tlps_up),
                    print_count(l.bytes_up),
                    print_count(l.payload_up),
                    print_count(l.tlps_down),
                    print_count(l.bytes_down),
                    print_count(l.payload_down),
                    print_time(l.busy_up_ps),
                    print_time(l.busy_down_ps)};
        });
    text += rows.size() > 1 ? "\n" + print_table(rows, look.width) : "";

    rows = {{"cache", "hits", "misses", "hit rate"}};
    append_most(
        rows, result.caches, [](const auto& c) { return c.hits + c.misses; },
        [](const auto& c) -> std::vector<std::string> {
            return {c.name, print_count(c.hits), print_count(c.misses), print_share(c.hits, c.hits + c.misses)};
        });
    text += rows.size() > 1 ? "\n" + print_table(rows, look.width) : "";

    text += print_resources(result, look);
    text += print_queues(result.queues, look);
    text += "\n" +
            print_table({
                {"payload", print_count(result.payload_bytes) + " bytes"},
                {"through the switches, peer to peer", print_count(result.p2p_payload_bytes) + " bytes"},
                {"through the root complexes, peer to peer", print_count(result.redirected_payload_bytes) + " bytes"},
                {"through host DRAM", print_count(result.host_dram_payload_bytes) + " bytes"},
                {"packets on the wire", print_count(result.wire_packets)},
                {"completions, good and bad",
                 print_count(result.completions_ok) + " + " + print_count(result.completions_error)},
                {"retries, of these time-outs", print_count(result.retries) + ", " + print_count(result.timeouts)},
                {"NAKs, RNR pauses", print_count(result.naks) + ", " + print_count(result.rnr_waits)},
                {"packets dropped, seen twice",
                 print_count(result.packets_dropped) + ", " + print_count(result.duplicates)},
                {"simulated time", print_time(result.sim_time_ps)},
                {"wall time", fmt::format("{:.3f} s", result.wall_seconds)},
                {"digest of all events", result.event_digest},
            });
    if (result.steps.empty() && !result.traffic)
        text += fmt::format("\n  SHA-256 source  {}\n  SHA-256 target  {}", result.sha256_source, result.sha256_target);
    constexpr std::string_view red = "\033[1;31m", green = "\033[1;32m", plain = "\033[0m";
    const auto coloured = [&](std::string_view colour, std::string_view words) {
        return look.has_colour ? fmt::format("{}{}{}", colour, words, plain) : std::string(words);
    };
    text += result.verified ? fmt::format("\n  {}\n", coloured(green, "verified"))
                            : fmt::format("\n  {}: {}\n", coloured(red, "NOT VERIFIED"), printable(result.failure));
    if (!result.advice.empty())
        text += wrap(fmt::format("  What to do: {}", result.advice), look.width);
    return text;
}

} // namespace hcasim

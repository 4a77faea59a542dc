#include "testbench/hcasim/report.h"

#include "platform/observe/json.h"
#include "platform/topology/keys.h"
#include "testbench/hcasim/table.h"
#include "testbench/hcasim/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace hcasim {
namespace {

using platform::observe::Life;

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
                    "wall", "SHA-256"});
    for (const auto& t : result.transfers)
        rows.push_back({t.name, print_count(t.bytes), print_count(t.messages), print_count(t.packets),
                        print_count(t.completions_ok), print_count(t.completions_error), print_count(t.retries),
                        print_time(t.sim_time_ps), print_rate(t.bytes, t.sim_time_ps),
                        fmt::format("{:.3f} s", t.wall_seconds), t.verified ? "equal" : t.sha256_target.empty() ? "not reached" : "DIFFERENT"});
}

void append_json(platform::observe::JsonObject& json, const scenario::Step& s) {
    json.begin_item()
        .add("name", s.name)
        .add("verified", s.verified)
        .add("ended_with", s.ended_with)
        .add("owner_heard", s.owner_heard)
        .add("bytes", s.bytes)
        .add("landed", s.landed)
        .add("sha256_source", s.sha256_source)
        .add("sha256_target", s.sha256_target)
        .add("direct_bytes", s.direct_bytes)
        .add("redirected_bytes", s.redirected_bytes)
        .add("host_bytes", s.host_bytes)
        .add("A_upstream_up", s.upstream[0].up)
        .add("A_upstream_down", s.upstream[0].down)
        .add("B_upstream_up", s.upstream[1].up)
        .add("B_upstream_down", s.upstream[1].down)
        .add("sim_time_ns", s.sim_time_ps / 1000)
        .end();
}

} // namespace

std::string print_steps(const scenario::Result& result) {
    std::vector<std::vector<std::string>> rows{{"step", "A's request ended with", "B heard", "bytes", "landed", "simulated", ""}};
    for (const auto& s : result.steps)
        rows.push_back({s.name, s.ended_with, s.owner_heard.empty() ? "-" : s.owner_heard, print_count(s.bytes), print_count(s.landed),
                        print_time(s.sim_time_ps), s.verified ? "verified" : "NOT VERIFIED"});
    auto text = result.way.empty() ? "" : fmt::format("  {}\n\n", result.way);
    text += print_table(rows);
    rows = {{"payload by way", "direct", "redirected", "host memory", "A.upstream up", "down", "B.upstream up", "down"}};
    for (const auto& s : result.steps)
        rows.push_back({s.name, print_count(s.direct_bytes), print_count(s.redirected_bytes), print_count(s.host_bytes),
                        print_count(s.upstream[0].up), print_count(s.upstream[0].down), print_count(s.upstream[1].up),
                        print_count(s.upstream[1].down)});
    text += "\n" + print_table(rows);
    return text + "  direct, redirected, host memory: payload that the cards moved, with what was sent again; upstream: all data on the\n"
                  "  link between switch and root complex, with what an exporter copies\n";
}

std::string print_topology(const platform::topology::Config& config) {
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

std::string print_life(const Life& life, const platform::observe::Sources& sources) {
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
        text += fmt::format("  {:>2}  {:<15} {:<10} {:<18} {:>11.3f} ns {:>9.3f} ns  {}\n", i + 1, stages[i].room,
                            sources.name(entry->stamp.source), event, static_cast<double>(time) / 1000,
                            static_cast<double>(since) / 1000, platform::observe::describe(entry->event));
    }
    return text;
}

std::string print_result(const scenario::Result& result) {
    std::string text;
    std::vector<std::vector<std::string>> rows;
    if (!result.steps.empty())
        text += print_steps(result);
    if (!result.transfers.empty() || result.steps.empty()) {
        append_transfers(rows, result);
        text += print_table(rows);
    }

    rows = {{"wire", "packets", "bytes", "lost", "duplicated", "reordered", "corrupted"}};
    for (const auto& w : result.wires)
        rows.push_back({w.name, print_count(w.packets), print_count(w.bytes), print_count(w.lost),
                        print_count(w.duplicated), print_count(w.reordered), print_count(w.corrupted)});
    text += rows.size() > 1 ? "\n" + print_table(rows) : "";

    rows = {{"PCIe link", "TLPs up", "bytes up", "payload up", "TLPs down", "bytes down", "payload down", "busy up",
             "busy down"}};
    for (const auto& l : result.pcie_links)
        rows.push_back({l.name, print_count(l.tlps_up), print_count(l.bytes_up), print_count(l.payload_up),
                        print_count(l.tlps_down), print_count(l.bytes_down), print_count(l.payload_down),
                        print_time(l.busy_up_ps), print_time(l.busy_down_ps)});
    text += rows.size() > 1 ? "\n" + print_table(rows) : "";

    rows = {{"cache", "hits", "misses", "hit rate"}};
    for (const auto& c : result.caches)
        rows.push_back({c.name, print_count(c.hits), print_count(c.misses), print_share(c.hits, c.hits + c.misses)});
    text += rows.size() > 1 ? "\n" + print_table(rows) : "";

    text +=
        "\n" + print_table({
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
    if (result.steps.empty())
        text += fmt::format("\n  SHA-256 source  {}\n  SHA-256 target  {}", result.sha256_source, result.sha256_target);
    text += fmt::format("\n  {}\n", result.verified ? "verified" : "NOT VERIFIED: " + result.failure);
    if (!result.advice.empty())
        text += fmt::format("  What to do: {}\n", result.advice);
    return text;
}

std::string print_json(const scenario::Result& result, const platform::observe::Counters& counters,
                       const platform::topology::Config& config) {
    platform::observe::JsonObject json(2);
    json.add("scenario", result.scenario)
        .add("verified", result.verified)
        .add("failure", result.failure)
        .add("advice", result.advice)
        .add("way", result.way)
        .add("payload_bytes", result.payload_bytes)
        .add("sha256_source", result.sha256_source)
        .add("sha256_target", result.sha256_target)
        .add("completions_ok", result.completions_ok)
        .add("completions_error", result.completions_error)
        .add("p2p_payload_bytes", result.p2p_payload_bytes)
        .add("redirected_payload_bytes", result.redirected_payload_bytes)
        .add("host_dram_payload_bytes", result.host_dram_payload_bytes)
        .add("wire_packets", result.wire_packets)
        .add("retries", result.retries)
        .add("timeouts", result.timeouts)
        .add("rnr_waits", result.rnr_waits)
        .add("naks", result.naks)
        .add("duplicates", result.duplicates)
        .add("packets_dropped", result.packets_dropped)
        .add("sim_time_ns", result.sim_time_ps / 1000)
        .add("wall_seconds", result.wall_seconds)
        .add("event_digest", result.event_digest);

    json.begin_list("steps");
    for (const auto& s : result.steps)
        append_json(json, s);
    json.end().begin_list("transfers");
    for (const auto& t : result.transfers)
        json.begin_item()
            .add("name", t.name)
            .add("verified", t.verified)
            .add("sha256_target", t.sha256_target)
            .add("bytes", t.bytes)
            .add("messages", t.messages)
            .add("packets", t.packets)
            .add("completions_ok", t.completions_ok)
            .add("completions_error", t.completions_error)
            .add("retries", t.retries)
            .add("sim_time_ns", t.sim_time_ps / 1000)
            .add("wall_seconds", t.wall_seconds)
            .end();
    json.end().begin_list("wires");
    for (const auto& w : result.wires)
        json.begin_item()
            .add("name", w.name)
            .add("packets", w.packets)
            .add("bytes", w.bytes)
            .add("lost", w.lost)
            .add("duplicated", w.duplicated)
            .add("reordered", w.reordered)
            .add("corrupted", w.corrupted)
            .end();
    json.end().begin_list("pcie_links");
    for (const auto& l : result.pcie_links)
        json.begin_item()
            .add("name", l.name)
            .add("tlps_up", l.tlps_up)
            .add("tlps_down", l.tlps_down)
            .add("bytes_up", l.bytes_up)
            .add("bytes_down", l.bytes_down)
            .add("payload_up", l.payload_up)
            .add("payload_down", l.payload_down)
            .add("busy_up_ns", l.busy_up_ps / 1000)
            .add("busy_down_ns", l.busy_down_ps / 1000)
            .end();
    json.end().begin_list("caches");
    for (const auto& c : result.caches)
        json.begin_item().add("name", c.name).add("hits", c.hits).add("misses", c.misses).end();
    json.end().begin("events");
    for (std::size_t type = 0; type < platform::observe::event_type_count; ++type)
        json.add(platform::observe::event_names[type], counters.count(type));
    json.end().begin("reasons");
    for (std::size_t type = 0; type < platform::observe::event_type_count; ++type)
        for (const auto& [reason, count] : counters.reasons(type))
            json.add(fmt::format("{}: {}", platform::observe::event_names[type], reason), count);
    json.end().begin("configuration");
    for (const auto& [key, value] : platform::topology::effective(config))
        json.add(key, value);
    json.end().end();
    return std::string(json.text()) + "\n";
}

} // namespace hcasim

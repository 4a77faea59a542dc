#include "testbench/hcasim/result_json.h"

#include "platform/observe/files/json.h"
#include "platform/topology/keys.h"
#include "testbench/hcasim/traffic_json.h"
#include "testbench/program/version.h"
#include "testbench/result/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <variant>

namespace hcasim {
namespace {

using platform::observe::files::JsonObject;

/// By the key's name in JSON, which has the unit; times in nanoseconds.
void append_value(JsonObject& json, const platform::topology::Key& key, const platform::topology::Value& value) {
    const auto name = platform::topology::name_in_json(key);
    if (key.kind == platform::topology::Kind::time)
        json.add(name, static_cast<double>(std::get<std::int64_t>(value)) / 1000);
    else
        std::visit([&](const auto& plain) { json.add(name, plain); }, value);
}

void append_json(platform::observe::files::JsonObject& json, const scenario::Step& s) {
    json.begin_item()
        .add("name", s.name)
        .add("verified", s.verified)
        .add("ended_with", s.ended_with)
        .add("owner_heard", s.owner_heard)
        .add("bytes", s.bytes)
        .add("landed_bytes", s.landed)
        .add("sha256_source", s.sha256_source)
        .add("sha256_target", s.sha256_target)
        .add("direct_bytes", s.direct_bytes)
        .add("redirected_bytes", s.redirected_bytes)
        .add("host_bytes", s.host_bytes)
        .add("A_upstream_up_bytes", s.upstream[0].up)
        .add("A_upstream_down_bytes", s.upstream[0].down)
        .add("B_upstream_up_bytes", s.upstream[1].up)
        .add("B_upstream_down_bytes", s.upstream[1].down)
        .add("sim_time_ns", s.sim_time_ps / 1000)
        .end();
}

void append_json(JsonObject& json, const platform::observe::count::QueueCounts& counts) {
    using platform::observe::count::QueueCounts;
    struct Column {
        std::string_view name;
        std::optional<std::uint64_t> QueueCounts::* value;
    };
    constexpr std::array columns{Column{"requests", &QueueCounts::requests},
                                 Column{"requests_again", &QueueCounts::requests_again},
                                 Column{"bytes", &QueueCounts::bytes},
                                 Column{"completions_ok", &QueueCounts::completions_ok},
                                 Column{"completions_error", &QueueCounts::completions_error},
                                 Column{"deepest", &QueueCounts::deepest},
                                 Column{"armed", &QueueCounts::armed},
                                 Column{"events", &QueueCounts::events}};
    for (const auto& column : columns) {
        if (const auto& value = counts.*column.value)
            json.add(column.name, *value);
        else
            json.add(column.name, json_null);
    }
}

} // namespace

std::string print_json(const RunFacts& facts) {
    const auto& result = facts.result;
    JsonObject json(2);
    json.add("kind", result_kind)
        .add("format", result_format)
        .add("version", version())
        .add("revision", revision())
        .add("scenario", result.scenario)
        .add("verified", result.verified)
        .add("failure", result.failure)
        .add("advice", result.advice)
        .add("stopped", result.stopped)
        .add("found", result.found)
        .add("way", result.way)
        .add("payload_path", facts.payload)
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

    json.begin_list("components");
    for (std::size_t source = 0; source < facts.digests.sources(); ++source)
        if (const auto digest = facts.digests.of(static_cast<std::uint16_t>(source)))
            json.begin_item()
                .add("name", facts.sources.name(static_cast<std::uint16_t>(source)))
                .add("events", digest->events)
                .add("event_digest", digest->text())
                .end();
    json.end();
    append_traffic(json, result);
    json.begin_list("steps");
    for (const auto& s : result.steps)
        append_json(json, s);
    json.end().begin_list("laboratory");
    for (const auto& one : result.laboratory)
        json.begin_item()
            .add("row", one.row)
            .add("cites", one.cites)
            .add("setup", one.setup)
            .add("load", one.load)
            .add("flush", one.flush)
            .add("outcome", one.outcome)
            .add("expected", one.expected)
            .add("agrees", one.agrees)
            .add("explanation", one.explanation)
            .end();
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
            .add("timeouts", t.timeouts)
            .add("rnr_waits", t.rnr_waits)
            .add("naks", t.naks)
            .add("sim_time_ns", t.sim_time_ps / 1000)
            .add("rate_bytes_per_second", per_second(t.bytes, t.sim_time_ps))
            .add("wall_seconds", t.wall_seconds)
            .add("bottleneck", t.bottleneck)
            .add("load", t.load)
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
            .add("waited_ns", w.waited_ps / 1000)
            .end();
    json.end().begin_list("failures");
    for (const auto& f : result.failures) {
        json.begin_item().add("name", f.name).add("at_ns", static_cast<double>(f.at_ps) / 1000);
        if (f.until_ps)
            json.add("until_ns", static_cast<double>(*f.until_ps) / 1000);
        else
            json.add("until_ns", json_null);
        json.add("lost", f.lost).add("discarded", f.discarded).end();
    }
    json.end().begin_list("pcie_links");
    for (const auto& l : result.pcie_links)
        json.begin_item()
            .add("name", l.name)
            .add("tlps_up", l.tlps_up)
            .add("tlps_down", l.tlps_down)
            .add("up_bytes", l.bytes_up)
            .add("down_bytes", l.bytes_down)
            .add("payload_up_bytes", l.payload_up)
            .add("payload_down_bytes", l.payload_down)
            .add("busy_up_ns", l.busy_up_ps / 1000)
            .add("busy_down_ns", l.busy_down_ps / 1000)
            .end();
    json.end().begin_list("caches");
    for (const auto& c : result.caches)
        json.begin_item()
            .add("name", c.name)
            .add("hits", c.hits)
            .add("misses", c.misses)
            .add("hit_rate", c.hits + c.misses == 0
                                 ? json_null
                                 : static_cast<double>(c.hits) / static_cast<double>(c.hits + c.misses))
            .end();
    json.end().begin_list("resources");
    for (const auto& r : result.resources)
        json.begin_item()
            .add("name", r.name)
            .add("device", r.device)
            .add("kind", r.kind)
            .add("units", r.units)
            .add("uses", r.uses)
            .add("bytes", r.bytes)
            .add("busy_ns", r.busy_ps / 1000)
            .add("load", r.load)
            .add("waited_ns", r.waited_ps / 1000)
            .add("longest_wait_ns", r.longest_wait_ps / 1000)
            .end();
    json.end().begin_list("bottlenecks");
    for (const auto& b : result.bottlenecks)
        json.begin_item()
            .add("name", b.device)
            .add("busiest", b.busiest)
            .add("load", b.load)
            .add("waited_for", b.waited_for)
            .add("waited_ns", b.waited_ps / 1000)
            .end();
    json.end().begin_list("queues");
    for (const auto& q : result.queues.busiest) {
        json.begin_item().add("name", q.name).add("card", q.card).add("kind", name_of(q.kind));
        append_json(json, q.counts);
        json.end();
    }
    json.end().begin_list("queue_sums");
    for (const auto& s : result.queues.sums) {
        json.begin_item().add("card", s.card).add("kind", name_of(s.kind)).add("queues", s.queues);
        append_json(json, s.counts);
        json.end();
    }
    json.end().begin("events");
    for (std::size_t type = 0; type < platform::observe::event_type_count; ++type)
        json.add(platform::observe::event_names[type], facts.counters.count(type));
    json.end().begin("reasons");
    for (std::size_t type = 0; type < platform::observe::event_type_count; ++type)
        for (const auto& [reason, count] : facts.counters.reasons(type))
            json.add(fmt::format("{}: {}", platform::observe::event_names[type], reason), count);
    json.end().begin("configuration");
    for (const auto& key : platform::topology::keys())
        append_value(json, key, key.get(facts.config));
    const auto& written = facts.config.written;
    if (const auto text = platform::topology::print_fabric(written) + platform::topology::print_hosts(written) +
                          platform::topology::print_failures(written);
        !text.empty())
        json.add("written", text);
    for (std::size_t i = 0; i < facts.config.exceptions.size(); ++i) {
        const auto& setting = facts.config.exceptions[i];
        const auto is_later = [&](const auto& other) { return other.path == setting.path; };
        if (std::ranges::none_of(std::span(facts.config.exceptions).subspan(i + 1), is_later)) // the last one counts
            std::visit([&](const auto& value) { json.add(setting.path, value); }, setting.value);
    }
    json.end().begin_list("keys_without_effect");
    for (const auto& key : facts.idle)
        json.begin_item().add("key", key.path).add("where", key.where).add("why", key.why).end();
    json.end().begin_list("event_marks");
    for (const auto& mark : facts.digests.marks())
        json.begin_item()
            .add("events", mark.events)
            .add("last_id", mark.number)
            .add("time_ps", mark.time_ps)
            .add("event_digest", mark.digest)
            .end();
    json.end().end();
    return std::string(json.text()) + "\n";
}

} // namespace hcasim

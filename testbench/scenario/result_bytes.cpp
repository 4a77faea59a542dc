#include "testbench/scenario/result_bytes.h"

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace scenario {

using platform::observe::count::QueueCounts;
using platform::observe::count::QueueReport;
using platform::observe::count::QueueRow;
using platform::observe::count::QueueSum;
using platform::ranks::Plain;
using platform::ranks::Reader;
using platform::ranks::Writer;

namespace {

// Members in the order in which they are sent; a row that gets one gets it here, too.
template <class R, class T>
concept Row = std::same_as<std::remove_const_t<R>, T>;

void members(Row<PcieLink> auto& row, auto&& visit) {
    visit(row.name), visit(row.tlps_up), visit(row.tlps_down), visit(row.bytes_up), visit(row.bytes_down);
    visit(row.payload_up), visit(row.payload_down), visit(row.busy_up_ps), visit(row.busy_down_ps);
}
void members(Row<Cache> auto& row, auto&& visit) { visit(row.name), visit(row.hits), visit(row.misses); }
void members(Row<Resource> auto& row, auto&& visit) {
    visit(row.name), visit(row.device), visit(row.kind), visit(row.units), visit(row.uses), visit(row.bytes);
    visit(row.busy_ps), visit(row.waited_ps), visit(row.longest_wait_ps), visit(row.load);
}
void members(Row<Bottleneck> auto& row, auto&& visit) {
    visit(row.device), visit(row.busiest), visit(row.load), visit(row.waited_for), visit(row.waited_ps);
}
void members(Row<Wire> auto& row, auto&& visit) {
    visit(row.name), visit(row.packets), visit(row.bytes), visit(row.lost), visit(row.duplicated);
    visit(row.reordered), visit(row.corrupted), visit(row.waited_ps);
}
void members(Row<QueueCounts> auto& row, auto&& visit) {
    visit(row.requests), visit(row.requests_again), visit(row.bytes), visit(row.completions_ok);
    visit(row.completions_error), visit(row.deepest), visit(row.armed), visit(row.events);
}
void members(Row<QueueRow> auto& row, auto&& visit) {
    visit(row.card), visit(row.name), visit(row.kind);
    members(row.counts, visit);
}
void members(Row<QueueSum> auto& row, auto&& visit) {
    visit(row.card), visit(row.kind), visit(row.queues);
    members(row.counts, visit);
}

template <class R> void each_sum(R& result, auto&& visit) {
    visit(result.completions_ok), visit(result.completions_error), visit(result.p2p_payload_bytes);
    visit(result.redirected_payload_bytes), visit(result.host_dram_payload_bytes), visit(result.wire_packets);
    visit(result.retries), visit(result.timeouts), visit(result.rnr_waits), visit(result.naks);
    visit(result.duplicates), visit(result.packets_dropped);
}
template <class R> void each_list(R& result, auto&& visit) {
    visit(result.pcie_links), visit(result.caches), visit(result.resources), visit(result.bottlenecks);
    visit(result.wires);
}
template <class R> void each_queue_list(R& report, auto&& visit) { visit(report.busiest), visit(report.sums); }

struct Put {
    Writer& writer;
    void operator()(const std::string& text) const { writer.put(std::string_view(text)); }
    template <Plain T> void operator()(const T& value) const { writer.put(value); }
    template <Plain T> void operator()(const std::optional<T>& value) const {
        writer.put(value.has_value());
        writer.put(value.value_or(T{}));
    }
};

struct Get {
    Reader& reader;
    void operator()(std::string& text) const { text = reader.get_text(); }
    template <Plain T> void operator()(T& value) const { value = reader.get<T>(); }
    template <Plain T> void operator()(std::optional<T>& value) const {
        const auto is_there = reader.get<bool>();
        const auto number = reader.get<T>();
        value = is_there ? std::optional(number) : std::nullopt;
    }
};

void put_list(Writer& writer, const auto& rows) {
    writer.put(static_cast<std::uint32_t>(rows.size()));
    for (const auto& row : rows)
        members(row, Put{writer});
}

void add_list(Reader& reader, auto& rows) {
    for (auto left = reader.get<std::uint32_t>(); left != 0 && reader.is_good(); --left)
        members(rows.emplace_back(), Get{reader});
}

} // namespace

void put_counts(Writer& writer, const Result& result) {
    each_sum(result, Put{writer});
    each_list(result, [&](const auto& rows) { put_list(writer, rows); });
}

bool add_counts(Reader& reader, Result& result) {
    each_sum(result, [&]<class T>(T& sum) { sum += reader.get<T>(); });
    each_list(result, [&](auto& rows) { add_list(reader, rows); });
    return reader.is_good();
}

void put_queues(Writer& writer, const QueueReport& report) {
    each_queue_list(report, [&](const auto& rows) { put_list(writer, rows); });
}

bool add_queues(Reader& reader, QueueReport& report) {
    each_queue_list(report, [&](auto& rows) { add_list(reader, rows); });
    return reader.is_good();
}

} // namespace scenario

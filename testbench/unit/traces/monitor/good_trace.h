// A trace in which nothing is wrong, and ways to make something wrong with it.
#pragma once

#include "testbench/unit/traces/codec/trace_bench.h"
#include "traces/monitor/monitor.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace monitor_bench {

using trace_bench::Bytes;
using trace_bench::Kept;
namespace codec = traces::codec;
namespace monitor = traces::monitor;

/// Records with the numbers that they had: causes still mean the same when others are swapped or left out.
struct Numbered {
    std::uint64_t number;
    Kept kept;
    codec::Record record() const { return {number, kept.interface, kept.time_ps, kept.mark, kept.head, kept.payload}; }
};
struct Trace {
    codec::Head head;
    std::vector<Numbered> records;
    /// The first record from `begin` on for which this holds; the number of records where there is none.
    template <class Holds> std::size_t find(Holds&& holds, std::size_t begin = 0) const {
        for (auto i = begin; i < records.size(); ++i)
            if (holds(records[i]))
                return i;
        return records.size();
    }
    /// Moves the record at `from` in front of the one at `to`.
    void move(std::size_t from, std::size_t to) {
        auto moved = records[from];
        records.erase(records.begin() + static_cast<std::ptrdiff_t>(from));
        records.insert(records.begin() + static_cast<std::ptrdiff_t>(to), std::move(moved));
    }
    void drop(std::size_t at) { records.erase(records.begin() + static_cast<std::ptrdiff_t>(at)); }
};

/// A driver on a recorded device, and its peer on another: queues, events, messages of all kinds in both directions,
/// and all of it taken down again. Recorded once.
const Trace& good_trace();

/// What the monitor finds in a trace.
inline monitor::Findings findings(const Trace& trace) {
    monitor::Monitor monitor(trace.head);
    for (const auto& one : trace.records)
        monitor.on(one.record());
    monitor.on_end();
    return monitor.findings();
}
/// The rules that a trace breaks, each once, in the order in which it breaks them; with all texts where there are many.
inline std::string broken(const Trace& trace) {
    std::string names;
    const auto found = findings(trace);
    for (const auto& violation : found.kept())
        if (names.find(violation.rule.name) == std::string::npos)
            names += (names.empty() ? "" : ", ") + std::string(violation.rule.name);
    return names;
}

/// Where in a trace the facts are that tests change. `is` gets a fact and says whether it is the one.
template <class F> std::vector<std::size_t> places(const Trace& trace, std::function<bool(const F&)> is) {
    monitor::Observer observer(trace.head);
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < trace.records.size(); ++i)
        for (const auto& fact : observer.on(trace.records[i].record()))
            if (const auto* one = std::get_if<F>(&fact); one != nullptr && is(*one))
                found.push_back(i);
    return found;
}

} // namespace monitor_bench

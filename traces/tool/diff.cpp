#include "traces/tool/diff.h"

#include "traces/tool/changes.h"
#include "traces/tool/describe.h"
#include "traces/tool/streams.h"
#include "traces/tool/tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace traces::tool {

using namespace codec;

namespace {

/// What the first pass knows of a trace. `tally` refers to `head`.
struct Survey {
    Head head{};
    std::vector<Stream> streams{};
    std::optional<Tally> tally{};
    Outcome outcome{};
};

/// Reads one trace from its beginning, until visit(record, seen) says false.
template <class Begin, class Visit> Outcome pass(const OpenTrace& open, Begin&& begin, Visit&& visit) {
    auto source = open();
    if (!source)
        return {.complaint = source.error()};
    Reader reader(**source);
    if (const auto opened = reader.open(); !opened)
        return outcome_of(reader, opened.error());
    begin(reader.head());
    auto fault =
        walk(reader, [&](const Record& record, const Seen& seen, const Decoder&) { return visit(record, seen); });
    return outcome_of(reader, std::move(fault));
}

void survey(const OpenTrace& open, bool has_times, Survey& into) {
    std::optional<Fingerprints> prints;
    into.outcome = pass(
        open,
        [&](const Head& head) {
            into.head = head;
            into.streams.resize(head.interfaces.size());
            into.tally.emplace(into.head);
            prints.emplace(into.head, has_times);
        },
        [&](const Record& record, const Seen& seen) {
            into.streams[record.interface].add(prints->of(record));
            into.tally->add(record, seen);
            return true;
        });
}

/// A place where a pair of streams is not the same.
struct Place {
    const StreamPair* pair = nullptr;
    std::uint64_t chunk = 0;
    std::uint64_t index = 0;                        ///< of the record in the stream, from 0
    std::array<std::vector<Print>, 2> prints{};     ///< of the chunk's records
    std::array<std::optional<Quoted>, 2> records{}; ///< what stands there, if anything does
    std::optional<std::uint32_t> interface(std::size_t side) const { return side == 0 ? pair->a : pair->b; }
};
using Places = std::vector<Place>;

/// The places of one trace by interface.
std::map<std::uint32_t, Place*> by_interface(Places& places, std::size_t side) {
    std::map<std::uint32_t, Place*> found;
    for (auto& place : places)
        if (const auto interface = place.interface(side))
            found.emplace(*interface, &place);
    return found;
}

/// Fills in the records' prints of the first chunk that is not the same, and then the first record.
void narrow(const OpenTrace& open, std::size_t side, bool has_times, Places& places) {
    const auto wanted = by_interface(places, side);
    std::vector<std::uint64_t> seen;
    std::optional<Fingerprints> prints;
    pass(
        open,
        [&](const Head& head) {
            seen.resize(head.interfaces.size());
            prints.emplace(head, has_times);
        },
        [&](const Record& record, const Seen&) {
            const auto index = seen[record.interface]++;
            if (const auto found = wanted.find(record.interface);
                found != wanted.end() && index / Stream::chunk == found->second->chunk)
                found->second->prints[side].push_back(prints->of(record));
            return true;
        });
}

void quote(const OpenTrace& open, std::size_t side, Places& places) {
    const auto wanted = by_interface(places, side);
    std::vector<std::uint64_t> seen;
    const Head* of = nullptr;
    pass(
        open,
        [&](const Head& head) {
            seen.resize(head.interfaces.size());
            of = &head;
        },
        [&](const Record& record, const Seen& what) {
            const auto found = wanted.find(record.interface);
            if (found != wanted.end() && seen[record.interface] == found->second->index)
                found->second->records[side] = quote(record, what, *of);
            ++seen[record.interface];
            return true;
        });
}

/// The earliest of the two.
std::int64_t time_of(const Place& place) {
    std::int64_t earliest = INT64_MAX;
    for (const auto& record : place.records)
        if (record)
            earliest = std::min(earliest, record->time_ps);
    return earliest;
}

std::uint64_t count_of(const Survey& survey, std::optional<std::uint32_t> interface) {
    return interface ? survey.streams[*interface].count() : 0;
}

void tell(const Place& place, const std::array<Survey, 2>& surveys, bool has_times, Output& output) {
    constexpr std::array side_names{'A', 'B'};
    const auto& [a, b] = place.records;
    output.line(fmt::format("{}: record {} is not the same ({} records in A, {} in B)", place.pair->name,
                            place.index + 1, count_of(surveys[0], place.pair->a), count_of(surveys[1], place.pair->b)));
    for (std::size_t side = 0; side < 2; ++side)
        output.line(
            fmt::format("  {} {}", side_names[side], place.records[side] ? place.records[side]->line : "has no more"));
    if (a && b)
        for (const auto& change : changes_of(*a, *b, has_times))
            output.line("    " + change);
}

} // namespace

DiffOutcome diff(const std::array<OpenTrace, 2>& traces, const DiffOptions& options, Destination& destination) {
    const bool has_times = !options.ignore_times;
    std::array<Survey, 2> surveys;
    DiffOutcome outcome;
    for (std::size_t side = 0; side < 2; ++side) {
        survey(traces[side], has_times, surveys[side]);
        outcome.traces[side] = surveys[side].outcome;
        if (!surveys[side].tally) // nothing of it can be read
            return outcome;
    }
    const auto& [a, b] = surveys;
    const auto pairs = pair_streams(a.head, b.head);
    Places places;
    std::vector<const StreamPair*> same;
    const Stream nothing;
    for (const auto& pair : pairs) {
        const auto chunk =
            Stream::first_difference(pair.a ? a.streams[*pair.a] : nothing, pair.b ? b.streams[*pair.b] : nothing);
        if (chunk)
            places.push_back({.pair = &pair, .chunk = *chunk});
        else
            same.push_back(&pair);
    }
    if (!places.empty()) {
        for (std::size_t side = 0; side < 2; ++side)
            narrow(traces[side], side, has_times, places);
        for (auto& place : places)
            place.index = place.chunk * Stream::chunk +
                          static_cast<std::uint64_t>(std::ranges::mismatch(place.prints[0], place.prints[1]).in1 -
                                                     place.prints[0].begin());
        for (std::size_t side = 0; side < 2; ++side)
            quote(traces[side], side, places);
        std::ranges::stable_sort(places, {}, time_of);
    }
    Output output(destination);
    for (const auto& change : head_changes(a.head, b.head))
        output.line(change);
    for (const auto& place : places)
        tell(place, surveys, has_times, output);
    for (const auto* pair : same)
        output.line(fmt::format("{}: the same, {} records", pair->name, count_of(a, pair->a)));
    for (const auto& change : tally_changes(*a.tally, *b.tally, has_times))
        output.line(change);
    output.flush();
    if (!output.is_good())
        outcome.output = {.complaint = output.failure(), .is_output_lost = true};
    outcome.is_same = places.empty();
    return outcome;
}

} // namespace traces::tool

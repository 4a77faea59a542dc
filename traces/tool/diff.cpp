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

/// What the first pass knows of a trace. `of` and `tally` refer to `head`.
struct Survey {
    Head head{};
    std::optional<Streams> of{};
    std::vector<Stream> streams{}; ///< by the numbers that `of` gives
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
            into.of.emplace(into.head, has_times);
            into.streams.resize(into.of->count());
            into.tally.emplace(into.head);
            prints.emplace(into.head, has_times);
        },
        [&](const Record& record, const Seen& seen) {
            into.streams[into.of->of(record)].add(prints->of(record, seen));
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
    std::optional<std::uint32_t> stream(std::size_t side) const { return side == 0 ? pair->a : pair->b; }
};
using Places = std::vector<Place>;

/// The places of one trace by stream.
std::map<std::uint32_t, Place*> by_stream(Places& places, std::size_t side) {
    std::map<std::uint32_t, Place*> found;
    for (auto& place : places)
        if (const auto stream = place.stream(side))
            found.emplace(*stream, &place);
    return found;
}

/// Fills in the records' prints of the first chunk that is not the same, and then the first record.
void narrow(const OpenTrace& open, std::size_t side, bool has_times, Places& places) {
    const auto wanted = by_stream(places, side);
    std::vector<std::uint64_t> counts;
    std::optional<Streams> streams;
    std::optional<Fingerprints> prints;
    pass(
        open,
        [&](const Head& head) {
            streams.emplace(head, has_times);
            counts.resize(streams->count());
            prints.emplace(head, has_times);
        },
        [&](const Record& record, const Seen& seen) {
            const auto stream = streams->of(record);
            const auto index = counts[stream]++;
            if (const auto found = wanted.find(stream);
                found != wanted.end() && index / Stream::chunk == found->second->chunk)
                found->second->prints[side].push_back(prints->of(record, seen));
            return true;
        });
}

void quote(const OpenTrace& open, std::size_t side, bool has_times, Places& places) {
    const auto wanted = by_stream(places, side);
    std::vector<std::uint64_t> seen;
    std::optional<Streams> streams;
    const Head* of = nullptr;
    pass(
        open,
        [&](const Head& head) {
            streams.emplace(head, has_times);
            seen.resize(streams->count());
            of = &head;
        },
        [&](const Record& record, const Seen& what) {
            const auto stream = streams->of(record);
            const auto found = wanted.find(stream);
            if (found != wanted.end() && seen[stream] == found->second->index)
                found->second->records[side] = quote(record, what, *of);
            ++seen[stream];
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

std::uint64_t count_of(const Survey& survey, std::optional<std::uint32_t> stream) {
    return stream ? survey.streams[*stream].count() : 0;
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
    const auto pairs = pair_streams(*a.of, *b.of);
    Places places;
    std::vector<const StreamPair*> same;
    const Stream nothing;
    for (const auto& pair : pairs) {
        const auto chunk =
            Stream::first_difference(pair.a ? a.streams[*pair.a] : nothing, pair.b ? b.streams[*pair.b] : nothing);
        if (chunk)
            places.push_back({.pair = &pair, .chunk = *chunk});
        else if (!pair.is_part || count_of(a, pair.a) != 0)
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
            quote(traces[side], side, has_times, places);
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

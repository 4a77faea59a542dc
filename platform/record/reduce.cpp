#include "platform/record/reduce.h"

#include "platform/record/renumber.h"
#include "traces/codec/layouts.h"
#include "traces/codec/signal.h"
#include "traces/tool/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

namespace platform::record {

using namespace traces::codec;
using Clock = std::chrono::steady_clock;

namespace {

/// A trace that was written, to be read again.
struct Bytes final : Source, Destination {
    std::vector<std::byte> bytes;
    std::size_t at = 0;
    std::expected<std::size_t, std::string> read(std::span<std::byte> into) override {
        const auto part = std::span(bytes).subspan(at, std::min(into.size(), bytes.size() - at));
        std::ranges::copy(part, into.begin());
        at += part.size();
        return part.size();
    }
    Outcome write(std::span<const std::byte> more) override {
        bytes.insert(bytes.end(), more.begin(), more.end());
        return {};
    }
};

constexpr Writer::Options unpacked{.level = FrameWriter::plain, .batch_bytes = 1 << 20}, packed{};

/// A call of the device, with all that happened in its course: what is kept or left out as a whole.
struct Unit {
    bool is_kept_always = false;
    bool is_store = false; ///< software began it; else time, the wire, the device itself
};
/// Units that are tried together.
using Group = std::vector<std::uint32_t>;

class Reduction {
public:
    Reduction(const RecordStore& store, const ReduceOptions& options, const Play& play)
        : store_(store), options_(options), play_(play), renumbering_(store) {
        std::map<std::uint64_t, std::uint32_t> unit_of_gate;
        for (const auto& entry : store.entries()) {
            const auto gate = entry.mark.gate;
            const auto [found, is_new] = unit_of_gate.try_emplace(gate, static_cast<std::uint32_t>(units_.size()));
            if (is_new)
                units_.push_back({.is_kept_always = gate == 0}); // what it does while it is made
            unit_of_.push_back(found->second);
            auto& unit = units_[found->second];
            if (entry.number == options.wanted.record)
                unit.is_kept_always = true;
            if (entry.mark.direction == Direction::inbound && entry.mark.kind == RecordKind::request)
                unit.is_store = true;
        }
        best_.assign(units_.size(), true);
    }

    /// Whether the difference is there at all with everything that is left.
    bool begin() { return attempt(std::vector<bool>(units_.size(), true)); }

    void run() {
        leave_gap();
        by_queue_pair();
        for (auto before = records_; !is_out_of_time_; before = records_) {
            pass(operations());
            pass(calls());
            if (records_ == before)
                return;
        }
    }

    std::expected<Reduced, std::string> write(Destination& into) const {
        Writer writer(into, store_.head(), packed);
        const auto numbers = write(writer, best_);
        if (const auto closed = writer.close(); !closed)
            return std::unexpected(closed.error());
        const auto at = std::ranges::find(numbers, options_.wanted.record);
        return Reduced{.records_cut = store_.entries().size(),
                       .records = numbers.size(),
                       .record = at == numbers.end() ? 0 : static_cast<std::uint64_t>(at - numbers.begin() + 1),
                       .plays = plays_,
                       .known = known_,
                       .is_out_of_time = is_out_of_time_};
    }

private:
    using Kept = std::vector<bool>;

    std::vector<std::uint64_t> write(Writer& writer, const Kept& kept) const {
        const auto is_kept = [&](std::size_t at) { return kept[unit_of_[at]] || tells_address(at); };
        renumbering_.choose(is_kept);
        return store_.write(
            writer, [&](std::size_t at) { return is_kept(at) && !renumbering_.is_gone(at); },
            [&](std::size_t at) { return renumbering_.edited(at); });
    }
    /// Where a BAR begins is said once, in the course of some call, and holds for all behind it.
    bool tells_address(std::size_t at) const {
        const auto& entry = store_.entries()[at];
        return entry.mark.kind == RecordKind::signal && entry.head_bytes == SignalRecord::size &&
               abi::ConstView<SignalRecord>(store_.head_of(entry)).get<"code">() ==
                   static_cast<std::uint16_t>(Signal::bar_address);
    }

    /// Plays what `kept` leaves. If the difference is the same, that is the best so far.
    bool attempt(Kept kept) {
        std::vector<std::byte> flags(kept.size());
        std::ranges::transform(kept, flags.begin(), [](bool is_kept) { return std::byte{is_kept}; });
        if (const auto& gap = renumbering_.work().chosen())
            for (auto number = gap->upto; number != 0; number >>= 8)
                flags.push_back(static_cast<std::byte>(number));
        const auto digest = digest_of(flags);
        if (failed_.contains(digest)) {
            ++known_;
            return false;
        }
        Bytes trace;
        std::vector<std::uint64_t> numbers;
        {
            Writer writer(trace, store_.head(), unpacked);
            numbers = write(writer, kept);
            static_cast<void>(writer.close()); // memory takes everything
        }
        ++plays_;
        const auto seen = play_(trace);
        const auto original = seen && seen->record != 0 ? numbers.at(seen->record - 1) : 0;
        const bool is_same = seen && seen->what == options_.wanted.what && original == options_.wanted.record;
        if (is_same) {
            best_ = std::move(kept);
            records_ = numbers.size();
        } else {
            failed_.insert(digest);
        }
        options_.tell({.records = records_, .plays = plays_, .elapsed = Clock::now() - began_});
        is_out_of_time_ = Clock::now() >= options_.deadline;
        return is_same;
    }
    bool attempt_without(std::span<const Group> groups) {
        auto kept = best_;
        for (const auto& group : groups)
            for (const auto unit : group)
                if (!units_[unit].is_kept_always)
                    kept[unit] = false;
        return kept != best_ && attempt(std::move(kept));
    }

    /// Leaves out as many groups as it can, many at once first. Later ones first: less depends on them.
    void pass(std::vector<Group> groups) {
        for (auto size = std::bit_floor(std::max<std::size_t>(1, groups.size() / 2)); size != 0; size /= 2) {
            for (auto end = groups.size(); end != 0;) {
                if (is_out_of_time_)
                    return;
                const auto begin = end > size ? end - size : 0;
                if (attempt_without(std::span(groups).subspan(begin, end - begin)))
                    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(begin),
                                 groups.begin() + static_cast<std::ptrdiff_t>(end));
                end = begin;
            }
        }
    }

    /// Each call alone.
    std::vector<Group> calls() const {
        std::vector<Group> groups;
        for (std::uint32_t unit = 0; unit < units_.size(); ++unit)
            if (best_[unit] && !units_[unit].is_kept_always)
                groups.push_back({unit});
        return groups;
    }
    /// What software does, each with what the device does until software does the next thing.
    std::vector<Group> operations() const {
        std::vector<Group> groups;
        for (std::uint32_t unit = 0; unit < units_.size(); ++unit) {
            if (!best_[unit])
                continue;
            if (groups.empty() || units_[unit].is_store)
                groups.emplace_back();
            groups.back().push_back(unit);
        }
        return groups;
    }
    /// Most of the messages before the one that matters: those between the first ones of a queue and the last.
    void leave_gap() {
        constexpr std::size_t most_gaps = 6; // of a queue; a later one that fails says little of an earlier one
        const auto entries = std::span(store_.entries());
        const auto wanted = std::ranges::find(entries, options_.wanted.record, &RecordStore::Entry::number);
        auto& work = renumbering_.work();
        for (const auto& gap : work.before(static_cast<std::size_t>(wanted - entries.begin()), most_gaps))
            for (const bool is_all : {true, false}) {
                if (is_out_of_time_)
                    return;
                work.choose(gap);
                if (attempt(without_gap(is_all)))
                    return;
                work.choose(std::nullopt);
            }
    }
    /// Without the calls in the course of which nothing happened but for the messages of the gap; or all that came in
    /// that time.
    Kept without_gap(bool is_all) const {
        struct Course {
            std::size_t first = ~std::size_t{0};
            bool has_kept = false, has_gone = false, is_answer = false, is_room = false, is_batch_end = false;
        };
        const auto& work = renumbering_.work();
        std::vector<Course> courses(units_.size());
        for (std::size_t at = 0; at < unit_of_.size(); ++at) {
            auto& course = courses[unit_of_[at]];
            const auto part = work.part(at);
            course.first = std::min(course.first, at);
            course.has_kept |= part == WorkGaps::Part::kept;
            course.has_gone |= part != WorkGaps::Part::kept && work.is_its_work(at);
            course.is_answer |= work.is_answer_to_gone(at);
            const auto& entry = store_.entries()[at];
            if (entry.mark.kind == RecordKind::signal && entry.head_bytes == SignalRecord::size) {
                const auto code =
                    static_cast<Signal>(abi::ConstView<SignalRecord>(store_.head_of(entry)).get<"code">());
                course.is_room |= code == Signal::room;
                course.is_batch_end |= code == Signal::batch_end;
            }
        }
        auto kept = best_;
        const auto& gap = *work.chosen();
        bool waits_for_room = gap.begin != 0; // behind the last frame before the gap
        for (std::size_t unit = 0; unit < units_.size(); ++unit) {
            const auto& course = courses[unit];
            if (units_[unit].is_kept_always || course.has_kept || course.first <= gap.behind)
                continue;
            bool is_left_out = course.is_answer;
            if (course.first < gap.upto) {
                if (course.is_room && std::exchange(waits_for_room, false))
                    continue;
                const bool ends_kept_batch = course.is_batch_end && kept[unit - 1];
                is_left_out |= is_all || course.has_gone || course.is_room || course.is_batch_end;
                is_left_out &= !ends_kept_batch;
            }
            if (is_left_out)
                kept[unit] = false;
        }
        return kept;
    }

    /// The work of each queue pair as a whole, but for the commands that make it.
    void by_queue_pair() {
        std::map<std::uint32_t, std::set<std::uint32_t>> units;
        traces::tool::Decoder decoder(store_.head());
        for (std::size_t at = 0; at < unit_of_.size(); ++at) {
            const auto& entry = store_.entries()[at];
            const auto& seen = decoder.take(store_.record_of(entry));
            if (best_[unit_of_[at]] && seen.qpn != traces::tool::no_number && seen.command == nullptr)
                units[seen.qpn].insert(unit_of_[at]);
        }
        std::vector<Group> groups;
        for (const auto& [qpn, of] : units)
            groups.emplace_back(of.begin(), of.end());
        pass(std::move(groups));
    }

    const RecordStore& store_;
    const ReduceOptions& options_;
    const Play& play_;
    mutable Renumbering renumbering_; ///< of what is being written
    std::vector<Unit> units_;
    std::vector<std::uint32_t> unit_of_; ///< of each entry of the store
    Kept best_;
    std::uint64_t records_ = 0; ///< that the best one has
    std::set<Digest> failed_;
    unsigned plays_ = 0, known_ = 0;
    bool is_out_of_time_ = false;
    Clock::time_point began_ = Clock::now();
};

/// Calls visit(record) for the records up to the end of the call of record `last`, and `margin` more; 0: all.
/// Stops early where that says false.
template <class Visit>
std::optional<std::string> each_record(Reader& reader, std::uint64_t last, std::uint64_t margin, Visit&& visit) {
    std::optional<std::uint64_t> gate;
    std::uint64_t behind = 0;
    for (;;) {
        const auto record = reader.next();
        if (!record)
            return last != 0 && gate ? std::nullopt : std::optional(record.error().text());
        if (*record == nullptr)
            return std::nullopt;
        const auto& one = **record;
        if (gate && one.mark.gate != *gate && behind++ >= margin)
            return std::nullopt;
        if (!visit(one))
            return std::nullopt;
        if (one.number == last)
            gate = one.mark.gate;
    }
}

/// Of a trace that is too long to be held: without its end and without other devices. A record is written before the
/// next is read, and causes are let go.
std::expected<Reduced, std::string> cut(const OpenTrace& open, const ReduceOptions& options, Destination& into) {
    const auto source = open();
    if (!source)
        return std::unexpected(source.error());
    Reader reader(**source);
    if (const auto opened = reader.open(); !opened)
        return std::unexpected(opened.error().text());
    RecordStore one(reader.head(), options.interfaces);
    Writer writer(into, one.head(), packed);
    Reduced reduced{.is_only_cut = true};
    const auto fault = each_record(reader, options.wanted.record, 0, [&](const Record& record) {
        if (one.add(record)) {
            one.write(writer, [](std::size_t) { return true; });
            one.clear();
            reduced.records_cut = ++reduced.records;
            if (record.number == options.wanted.record)
                reduced.record = reduced.records;
        }
        return writer.is_good();
    });
    if (fault)
        return std::unexpected(*fault);
    if (const auto closed = writer.close(); !closed)
        return std::unexpected(closed.error());
    return reduced;
}

} // namespace

std::expected<Reduced, std::string> reduce(const OpenTrace& open, const ReduceOptions& options, const Play& play,
                                           Destination& into) {
    // Where calls run beside each other, the end of one may come behind the beginning of the next.
    for (const std::uint64_t margin : {std::uint64_t{0}, std::uint64_t{1000}, ~std::uint64_t{0}}) {
        auto source = open();
        if (!source)
            return std::unexpected(source.error());
        Reader reader(**source);
        if (const auto opened = reader.open(); !opened)
            return std::unexpected(opened.error().text());
        RecordStore store(reader.head(), options.interfaces);
        bool is_full = false;
        if (const auto fault = each_record(reader, options.wanted.record, margin, [&](const Record& record) {
                store.add(record);
                return !(is_full = store.bytes() > options.most_bytes);
            }))
            return std::unexpected(*fault);
        if (is_full)
            return cut(open, options, into);
        Reduction reduction(store, options, play);
        if (!reduction.begin())
            continue;
        reduction.run();
        return reduction.write(into);
    }
    return std::unexpected("the difference does not come again when the device is played alone: nothing was left out");
}

} // namespace platform::record

#include "platform/record/expectations.h"

#include <fmt/format.h>

#include <algorithm>

namespace platform::record {

using Kind = Divergence::Kind;

namespace {

bool is_entry(const Deed& deed) { return deed.kind == DeedKind::completion || deed.kind == DeedKind::event; }

/// Whether bytes of this write come before that deed.
bool come_before(const Deed& bytes, const Deed& deed) {
    using enum Deed::Whose;
    if (bytes.step.place != deed.step.place || deed.kind == DeedKind::bytes)
        return false;
    switch (deed.whose) {
    case anybody: return true;
    case queue_pair:
        return deed.kind == DeedKind::completion &&
               (bytes.whose == nobody_known || (bytes.whose == queue_pair && bytes.owner == deed.owner));
    case command: return deed.kind == DeedKind::hand_over && bytes.whose == command && bytes.owner == deed.owner;
    default: return false;
    }
}

} // namespace

/// Whose entries or interrupts a deed announces: as many of them are there before it as there were.
std::optional<Expectations::Queue> Expectations::announcer_of(const Deed& deed) {
    constexpr std::uint64_t completion_events = 0; // type 0, and the number of the queue
    if (deed.kind == DeedKind::event && deed.stream.source >> 32 == completion_events)
        return Queue{DeedKind::completion, deed.stream.place, deed.stream.source & 0xffff'ffff};
    if (deed.kind == DeedKind::interrupt)
        return Queue{DeedKind::event, deed.stream.place, deed.owner};
    return std::nullopt;
}

// --- what is expected ---

void Expectations::add(Deed deed) {
    const auto record = deed.step.record;
    if (deed.kind == DeedKind::notification)
        return;
    if (deed.has_psn)
        return add_frame(deed);
    if (deed.kind == DeedKind::bytes) {
        if (deed.step.bytes.empty())
            return;
        pieces_.push_back({record, deed.step.address, deed.step.bytes});
        const auto length = deed.step.bytes.size();
        hold(record, {.deed = std::move(deed), .answer = {}, .left = length});
        return;
    }
    if (is_entry(deed))
        rings_[queue_of(deed)].push_back({record, deed.slot, deed.is_odd_pass});
    std::uint64_t announced = 0;
    if (const auto announcer = announcer_of(deed))
        announced = added_[*announcer];
    ++added_[queue_of(deed)];
    streams_[deed.stream].push_back(record);
    hold(record, {.deed = std::move(deed), .answer = {}, .announced = announced});
}

void Expectations::hold(std::uint64_t record, Pending pending) {
    held_bytes_ += bytes_of(pending.deed);
    pending_[record] = std::move(pending);
}

void Expectations::answered(std::uint64_t record, Answer answer) {
    if (const auto found = pending_.find(record); found != pending_.end())
        found->second.answer = answer;
}

// --- what is done ---

std::optional<Expectations::Match> Expectations::take(const Deed& actual, std::uint64_t next) {
    if (suspicion_) {
        watch(actual);
        return std::nullopt;
    }
    if (actual.kind == DeedKind::notification)
        return std::nullopt;
    if (actual.kind == DeedKind::bytes)
        return take_bytes(actual);
    if (actual.has_psn)
        return take_frame(actual, next);
    return take_ordered(actual, next);
}

Expectations::Match Expectations::matched(std::uint64_t record) {
    const auto node = pending_.extract(record);
    const auto& expected = node.mapped();
    held_bytes_ -= bytes_of(expected.deed);
    if (expected.deed.kind != DeedKind::bytes)
        ++taken_[queue_of(expected.deed)];
    return {record, expected.deed.step.at, expected.answer};
}

/// Each byte is that of the first write to its address that has not come, of the same message if one is known.
std::optional<Expectations::Match> Expectations::take_bytes(const Deed& actual) {
    std::optional<Match> first;
    const auto& step = actual.step;
    const auto is_same_owner = [&](const Deed& deed) {
        using enum Deed::Whose;
        return deed.whose == nobody_known || actual.whose == nobody_known ||
               (deed.whose == actual.whose && deed.owner == actual.owner);
    };
    for (std::uint64_t at = step.address, end = step.address + step.bytes.size(); at < end;) {
        const auto covers = [&](const Piece& piece) {
            return piece.address <= at && at - piece.address < piece.bytes.size() &&
                   pending_.at(piece.record).deed.step.place == step.place;
        };
        auto found = std::ranges::find_if(pieces_, [&](const Piece& piece) {
            return covers(piece) && is_same_owner(pending_.at(piece.record).deed);
        });
        if (found == pieces_.end())
            found = std::ranges::find_if(pieces_, covers);
        if (found == pieces_.end()) {
            if (more())
                continue;
            suspect_extra(actual);
            return std::nullopt;
        }
        auto& expected = pending_.at(found->record);
        const auto begin = static_cast<std::size_t>(at - found->address);
        const auto count = std::min<std::size_t>(found->bytes.size() - begin, end - at);
        const auto theirs = std::span<const std::byte>(step.bytes).subspan(at - step.address, count);
        const auto ours = std::span<const std::byte>(found->bytes).subspan(begin, count);
        if (const auto different = std::ranges::mismatch(ours, theirs); different.in1 != ours.end()) {
            const auto offset = static_cast<std::size_t>(different.in1 - ours.begin());
            suspect_content(expected.deed, step,
                            fmt::format("; at {:#x} stands {:02x} instead of {:02x}", at + offset,
                                        std::to_integer<unsigned>(*different.in2),
                                        std::to_integer<unsigned>(*different.in1)));
            return std::nullopt;
        }
        const auto record = found->record;
        expected.left -= count;
        if (begin + count < found->bytes.size())
            pieces_.insert(std::next(found), Piece{record,
                                                   found->address + begin + count,
                                                   {found->bytes.begin() + static_cast<std::ptrdiff_t>(begin + count),
                                                    found->bytes.end()}});
        found->bytes.resize(begin);
        if (begin == 0)
            pieces_.erase(found);
        const auto match = expected.left == 0 ? matched(record) : Match{record, expected.deed.step.at, expected.answer};
        if (!first)
            first = match;
        at += count;
    }
    return first;
}

std::optional<Expectations::Match> Expectations::take_ordered(const Deed& actual, std::uint64_t next) {
    auto& stream = streams_[actual.stream];
    while (stream.empty())
        if (!more()) {
            suspect_extra(actual);
            return std::nullopt;
        }
    const auto record = stream.front();
    const auto& expected = pending_.at(record);
    if (const auto predecessor = predecessor_of(expected); predecessor != 0) {
        // What was to come after calls that have not been made is not late: this has no reason.
        if (record >= next)
            suspect_extra(actual);
        else
            suspect(Kind::missing, pending_.at(predecessor).deed, actual.step, ", which comes after it", record);
        return std::nullopt;
    }
    if (expected.deed.content != actual.content) {
        const auto later = std::ranges::find_if(
            stream, [&](std::uint64_t one) { return pending_.at(one).deed.content == actual.content; });
        suspect(Kind::field, expected.deed, actual.step, {}, later == stream.end() ? 0 : *later);
        return std::nullopt;
    }
    if (is_entry(actual) && !is_in_place(expected.deed, actual))
        return std::nullopt;
    stream.pop_front();
    return matched(record);
}

/// Entries of a queue are written one behind the other, whoever's they are.
bool Expectations::is_in_place(const Deed& expected, const Deed& actual) {
    auto& ring = rings_.at(queue_of(expected));
    const auto front = ring.front();
    if (front.slot != actual.slot || front.is_odd_pass != actual.is_odd_pass) {
        suspect_content(pending_.at(front.record).deed, actual.step,
                        front.slot != actual.slot ? "; another place of the queue" : "; the other pass of the queue");
        return false;
    }
    ring.pop_front();
    return true;
}

std::uint64_t Expectations::predecessor_of(const Pending& expected) const {
    const auto record = expected.deed.step.record;
    for (const auto& piece : pieces_) {
        if (piece.record > record)
            break;
        if (come_before(pending_.at(piece.record).deed, expected.deed))
            return piece.record;
    }
    const auto announcer = announcer_of(expected.deed);
    if (!announcer)
        return 0;
    const auto taken = taken_.find(*announcer);
    if (expected.announced <= (taken == taken_.end() ? 0 : taken->second))
        return 0;
    const auto found = std::ranges::find_if(pending_, [&](const auto& pending) {
        return pending.second.deed.kind != DeedKind::bytes && queue_of(pending.second.deed) == *announcer;
    });
    return found == pending_.end() || found->first > record ? 0 : found->first;
}

// --- what differs ---

void Expectations::suspect(Kind kind, const Deed& expected, const Step& actual, const std::string& why,
                           std::uint64_t other) {
    if (suspicion_)
        return;
    differ({.kind = kind,
            .record = expected.step.record,
            .expected = describe(expected.step),
            .actual = describe(actual) + why,
            .other = other,
            .expected_step = expected.step,
            .actual_step = actual});
    suspicion_->waits_for = expected;
}

void Expectations::suspect_extra(const Deed& actual) {
    const auto record = earliest();
    differ({.kind = Kind::extra,
            .record = record,
            .expected = record == 0 ? "nothing more" : describe(pending_.at(record).deed.step),
            .actual = describe(actual.step),
            .actual_step = actual.step});
}

void Expectations::differ(Divergence divergence) {
    if (!suspicion_)
        suspicion_ = {.divergence = std::move(divergence), .waits_for = std::nullopt};
}

/// Once something is wrong: does what was expected come after all?
void Expectations::watch(const Deed& actual) {
    auto& [divergence, waits_for] = *suspicion_;
    if (!waits_for)
        return;
    const bool has_come = waits_for->kind == DeedKind::bytes
                              ? actual.kind == DeedKind::bytes && actual.step.address <= waits_for->step.address &&
                                    waits_for->step.address - actual.step.address < actual.step.bytes.size()
                              : actual.stream == waits_for->stream && actual.content == waits_for->content;
    if (!has_come)
        return;
    const bool is_late = divergence.kind == Kind::missing || divergence.other != 0;
    divergence.kind = is_late ? Kind::order : Kind::extra;
    waits_for.reset();
}

std::optional<Divergence> Expectations::conclude() const {
    if (!suspicion_)
        return std::nullopt;
    auto divergence = suspicion_->divergence;
    if (suspicion_->waits_for && divergence.other != 0)
        divergence.kind = Kind::missing;
    if (divergence.kind != Kind::order)
        divergence.other = 0;
    return divergence;
}

void Expectations::deadlock(std::string_view why) {
    if (pending_.empty())
        return;
    const auto& step = pending_.begin()->second.deed.step;
    differ({.kind = Kind::missing,
            .record = step.record,
            .expected = describe(step),
            .actual = std::string(why),
            .expected_step = step});
}

void Expectations::finish() {
    const Deed* first = pending_.empty() ? nullptr : &pending_.begin()->second.deed;
    for (const auto& [stream, flow] : flows_)
        if (!flow.acknowledgements.empty() &&
            (first == nullptr || flow.acknowledgements.front().step.record < first->step.record))
            first = &flow.acknowledgements.front();
    if (first != nullptr)
        differ({.kind = Kind::missing,
                .record = first->step.record,
                .expected = describe(first->step),
                .actual = "nothing: the recording is over",
                .expected_step = first->step});
}

} // namespace platform::record

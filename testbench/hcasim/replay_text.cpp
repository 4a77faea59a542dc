#include "testbench/hcasim/replay_text.h"

#include "platform/observe/files/json.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "traces/tool/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hcasim {

using platform::observe::files::JsonObject;
using platform::record::Divergence;

std::string_view name(Verdict verdict) {
    constexpr std::array<std::string_view, 5> names{"same", "diverged", "truncated", "unreadable", "ended"};
    return names[static_cast<std::size_t>(verdict)];
}

Verdict verdict(const DeviceReplay& replay) {
    if (!replay.complaint.empty())
        return Verdict::ended;
    if (replay.divergence)
        return Verdict::diverged;
    if (!replay.fault)
        return Verdict::same;
    return replay.fault->kind == traces::codec::FaultKind::truncated ? Verdict::truncated : Verdict::unreadable;
}

int status_of(const DeviceReplay& replay) {
    switch (verdict(replay)) {
    case Verdict::same: return status::good;
    case Verdict::truncated:
    case Verdict::unreadable: return status::damaged;
    case Verdict::ended: return status::own_trouble; // nobody knows whether the device does as it did
    case Verdict::diverged: break;
    }
    return status::failed;
}

int gravest(int one, int other) {
    constexpr std::array order{status::good, status::damaged, status::refused, status::failed, status::own_trouble};
    return std::ranges::find(order, one) < std::ranges::find(order, other) ? other : one;
}

std::string shell_word(std::string_view word) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_-./=:,+@%").contains(c);
    };
    if (!word.empty() && std::ranges::all_of(word, is_plain))
        return std::string(word);
    std::string quoted = "'";
    for (const char c : word)
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

namespace {

std::string_view sentence_of(Divergence::Kind kind) {
    constexpr std::array<std::string_view, 5> sentences{
        "the device does not do what it did", "the device does something that it did not do",
        "the device does both, the later one first", "the device does the same with another content",
        "the device does the same at another time"};
    return sentences[static_cast<std::size_t>(kind)];
}

std::string grouped(std::uint64_t number) {
    auto text = fmt::to_string(number);
    for (auto at = std::ssize(text) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

/// Whether a row says something to a person: of a pair, what differs or is not zero; of what one side has alone, what
/// is not zero; of plain bytes, what differs.
bool is_shown(const FieldRow& row) {
    const auto is_zero = [](std::string_view value) {
        return value.empty() || value == "0x0" || value.find_first_not_of("0 ") == value.npos;
    };
    const bool has_both = !row.expected.empty() && !row.actual.empty();
    if (has_both && row.differs())
        return true;
    const bool is_plain = row.name.ends_with(']');
    return !(has_both && is_plain) && !(is_zero(row.expected) && is_zero(row.actual));
}

std::string print_rows(const std::vector<FieldRow>& rows) {
    constexpr std::size_t most_rows = 64, widest = 47;
    std::vector<const FieldRow*> shown;
    for (const auto& row : rows)
        if (is_shown(row))
            shown.push_back(&row);
    const auto left_out = shown.size() > most_rows ? shown.size() - most_rows : 0;
    shown.resize(shown.size() - left_out);
    std::size_t names = 0, values = 0;
    for (const auto* row : shown) {
        names = std::max(names, row->name.size());
        values = std::max(values, std::min(widest, row->expected.size()));
    }
    auto text = fmt::format("    {:<{}}  {:<{}}  {}\n", "", names, "expected", values, "actual");
    for (const auto* row : shown)
        text +=
            fmt::format("  {} {:<{}}  {:<{}}  {}\n", row->differs() ? '*' : ' ', row->name, names,
                        row->expected.empty() ? "-" : row->expected, values, row->actual.empty() ? "-" : row->actual);
    return left_out == 0 ? text : text + fmt::format("    {} more rows; --json has all of them\n", left_out);
}

std::string print_divergence(const DivergenceReport& report) {
    std::string where;
    if (report.record != 0)
        where = fmt::format("at record {}", report.record);
    else if (report.next != 0)
        where = fmt::format("before record {}", report.next);
    else
        where = "behind the last record";
    auto text = fmt::format("  class     {}: {}\n", name(report.kind), sentence_of(report.kind));
    text += fmt::format("  where     {}, {}, {}\n", where, report.interface, traces::tool::time_text(report.time_ps));
    if (!report.field.empty())
        text += fmt::format("  field     {}\n", report.field);
    text += fmt::format("  expected  {}\n  {:<8}  {}\n", report.expected,
                        report.kind == Divergence::Kind::missing ? "instead" : "actual", report.actual);
    if (report.other != 0)
        text += fmt::format("            which record {} did\n", report.other);
    if (!report.rows.empty())
        text += print_rows(report.rows);
    if (!report.chain.empty())
        text += "  What led there:\n";
    for (const auto& link : report.chain)
        text += fmt::format("  {}\n           {}\n",
                            link.record != 0 ? link.line : fmt::format("     now {}", link.line), link.why);
    if (!report.before.empty())
        text += "  Before it:\n";
    for (const auto& line : report.before)
        text += fmt::format("  {}\n", line);
    return text;
}

} // namespace

std::string print_text(const DeviceReplay& replay) {
    using enum platform::topology::KeyDifference::Kind;
    const auto played = fmt::format("{} records, {} calls, {:.1f} s, {}", grouped(replay.records),
                                    grouped(replay.calls), replay.wall_seconds, name(replay.mode));
    const std::array<std::string_view, 5> sentences{"the same", "diverged",
                                                    "the same as far as the recording goes, which is truncated",
                                                    "the same as far as the recording can be read", replay.complaint};
    const auto words = sentences[static_cast<std::size_t>(verdict(replay))];
    auto text = fmt::format("{}: {}: {} ({})\n", replay.trace, replay.part, words, played);
    for (const auto& difference : replay.differences)
        text += fmt::format("  with {} = {}{}\n", difference.key, difference.now.empty() ? "nothing" : difference.now,
                            difference.kind == added ? ", of which the recording says nothing"
                                                     : fmt::format(", recorded as {}", difference.recorded));
    if (replay.fault)
        text += fmt::format("  {}\n  records confirmed by the recording itself: {}\n", replay.fault->text(),
                            grouped(replay.confirmed));
    if (replay.divergence)
        text += print_divergence(*replay.divergence);
    if (status_of(replay) != status::good)
        text += fmt::format("  again: {}\n", replay.again);
    std::string shown; // names in a recording are somebody else's
    for (std::string_view left = text; !left.empty();) {
        const auto line = left.substr(0, left.find('\n'));
        left.remove_prefix(std::min(left.size(), line.size() + 1));
        shown += printable(line) + "\n";
    }
    return shown;
}

std::string print_json(const DeviceReplay& replay) {
    JsonObject json;
    json.add("trace", replay.trace)
        .add("device", replay.part)
        .add("verdict", name(verdict(replay)))
        .add("complaint", replay.complaint)
        .add("records", replay.records)
        .add("confirmed_records", replay.confirmed)
        .add("calls", replay.calls)
        .add("wall_seconds", replay.wall_seconds)
        .add("again", replay.again)
        .begin_list("differences");
    for (const auto& difference : replay.differences)
        json.begin_item()
            .add("kind", platform::topology::name(difference.kind))
            .add("key", difference.key)
            .add("recorded", difference.recorded)
            .add("now", difference.now)
            .end();
    json.end();
    if (replay.fault)
        json.begin("fault")
            .add("kind", traces::codec::name(replay.fault->kind))
            .add("reason", replay.fault->reason)
            .add("block", replay.fault->block)
            .add("file_offset_bytes", replay.fault->file_offset)
            .add("offset_bytes", replay.fault->offset)
            .end();
    if (const auto& report = replay.divergence) {
        json.begin("divergence")
            .add("class", name(report->kind))
            .add("field", report->field)
            .add("record", report->record)
            .add("next", report->next)
            .add("call", report->call)
            .add("other", report->other)
            .add("interface", report->interface)
            .add("time_ps", report->time_ps)
            .add("expected", report->expected)
            .add("actual", report->actual)
            .begin_list("fields");
        for (const auto& row : report->rows)
            json.begin_item()
                .add("name", row.name)
                .add("expected", row.expected)
                .add("actual", row.actual)
                .add("differs", row.differs())
                .end();
        json.end().begin_list("chain");
        for (const auto& link : report->chain)
            json.begin_item().add("record", link.record).add("line", link.line).add("why", link.why).end();
        json.end().begin_list("before");
        for (const auto& line : report->before)
            json.add_item(line);
        json.end().end();
    }
    json.end();
    return std::string(json.text());
}

} // namespace hcasim

#include "testbench/hcasim/compare_report.h"

#include "testbench/hcasim/table.h"
#include "testbench/program/console.h"
#include "testbench/program/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hcasim {
namespace {

/// Lines for a person, who has asked what is different and not for all of it.
constexpr std::size_t most_rows = 40;
/// Of a digest, or of a text in the table.
constexpr std::size_t most_letters = 32;

bool is_digest(std::string_view field) { return field == "event_digest" || field.starts_with("sha256_"); }

std::string title_of(const ThingChange& thing) {
    if (thing.group.empty())
        return "run";
    return printable(thing.name.empty() ? thing.group : fmt::format("{}: {}", thing.group, thing.name));
}

std::string cell(const std::optional<json::Scalar>& value) {
    if (!value)
        return "not there";
    auto text = printable(print(*value));
    if (text.size() <= most_letters)
        return text;
    auto end = most_letters;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) // within a letter of several bytes
        --end;
    return fmt::format("{}...", text.substr(0, end));
}

/// "+580", "+0.12 %": of two numbers.
std::pair<std::string, std::string> change_of(const ValueChange& change) {
    const auto before = change.before ? number_of(*change.before) : std::nullopt;
    const auto after = change.after ? number_of(*change.after) : std::nullopt;
    if (!before || !after || *before == *after)
        return {};
    const auto difference = *after - *before;
    const bool is_whole = std::abs(difference) < 1e15 && std::trunc(difference) == difference;
    const auto size = is_whole ? print_count(static_cast<std::uint64_t>(std::abs(difference)))
                               : fmt::format("{:.6g}", std::abs(difference));
    return {fmt::format("{}{}", difference > 0 ? "+" : "-", size),
            *before == 0 ? std::string("from 0") : fmt::format("{:+.3g} %", difference / std::abs(*before) * 100)};
}

std::vector<std::string> row_of(const ThingChange& thing, const ValueChange& value) {
    const auto [change, percent] = change_of(value);
    const auto name = printable(value.name);
    return {thing.group.empty() ? name : fmt::format("{}: {}", title_of(thing), name),
            cell(value.before),
            cell(value.after),
            change,
            percent,
            std::string(direction_of(value)),
            value.verdict == Likeness::within  ? "allowed"
            : value.verdict == Likeness::equal ? "equal"
                                               : "differs"};
}

std::string print_place(const EventMark& mark) {
    return fmt::format("{} (to id {}, {})", print_count(mark.events), mark.last_id, print_time(mark.time_ps));
}

std::string print_parting(const Parting& parting) {
    const auto same = parting.same.events == 0 ? std::string("no beginning of them is known to be equal")
                                               : fmt::format("the first {} are equal", print_place(parting.same));
    const auto other = parting.not_same ? fmt::format("the first {} are not", print_place(*parting.not_same))
                                        : std::string("the difference is behind what both have marks of");
    return fmt::format("  events: {}, {}; hcasim run --events FILE lists them\n", same, other);
}

/// The first difference in the order of the result; of a digest only where nothing else differs.
std::string print_first(const RunComparison& comparison) {
    for (const bool takes_digests : {false, true})
        for (const auto& thing : comparison.things)
            for (const auto& value : thing.values)
                if (value.verdict == Likeness::different && is_digest(value.name) == takes_digests)
                    return fmt::format("  first difference: {}, {}: {}, then {}\n", title_of(thing),
                                       printable(value.name), cell(value.before), cell(value.after));
    return {};
}

/// What of the configuration differs, which may explain the rest.
std::string print_configuration(const RunComparison& comparison) {
    constexpr std::size_t most = 8;
    std::string text;
    std::size_t count = 0;
    for (const auto& thing : comparison.things)
        for (const auto& value : thing.values)
            if (thing.group == "configuration" && value.verdict != Likeness::equal && ++count <= most)
                text += fmt::format("{}{} ({}, then {})", text.empty() ? "" : ", ", printable(value.name),
                                    cell(value.before), cell(value.after));
    const auto more = count > most ? fmt::format(", and {} more", count - most) : std::string();
    return count == 0 ? text : fmt::format("  configured otherwise: {}{}\n", text, more);
}

struct Tally {
    std::size_t equal = 0, all = 0;
};

/// "digests: all 3 of transfers, 4 of 9 of components are equal"
std::string print_digests(const RunComparison& comparison) {
    std::vector<std::pair<std::string_view, Tally>> groups;
    for (const auto& thing : comparison.things)
        for (const auto& value : thing.values) {
            if (!is_digest(value.name))
                continue;
            const std::string_view group = thing.group.empty() ? "the run" : std::string_view(thing.group);
            auto found = std::ranges::find(groups, group, [](const auto& one) { return one.first; });
            if (found == groups.end())
                found = groups.insert(groups.end(), {group, {}});
            ++found->second.all;
            found->second.equal += value.verdict == Likeness::equal ? 1 : 0;
        }
    std::string text;
    for (const auto& [group, tally] : groups)
        text += fmt::format("{}{} of {} of {}", text.empty() ? "" : ", ", tally.equal, tally.all, printable(group));
    return text.empty() ? text : fmt::format("  equal digests: {}\n", text);
}

} // namespace

std::string print_comparison(const RunComparison& comparison, const Look& look, bool shows_all) {
    auto text = fmt::format("{}: {}\n", printable(comparison.name), printable(comparison.scenario));
    if (!comparison.why_not.empty())
        return text + fmt::format("  {}\n", printable(comparison.why_not));
    text += print_configuration(comparison);
    if (comparison.parting)
        text += print_parting(*comparison.parting);
    text += print_first(comparison) + print_digests(comparison);

    std::vector<std::vector<std::string>> rows{{"value", "before", "after", "change", "", "", ""}};
    std::size_t equal = 0, within = 0, left_out = 0;
    for (const auto& thing : comparison.things)
        for (const auto& value : thing.values) {
            equal += value.verdict == Likeness::equal ? 1 : 0;
            within += value.verdict == Likeness::within ? 1 : 0;
            if (value.verdict == Likeness::equal && !shows_all)
                continue;
            if (rows.size() > most_rows && !shows_all)
                ++left_out;
            else
                rows.push_back(row_of(thing, value));
        }
    if (rows.size() > 1)
        text += "\n" + print_table(rows, look.width);
    if (left_out != 0)
        text += fmt::format("  and {} more, which --all shows\n", print_count(left_out));
    text += fmt::format("{}  {} values differ, {} differ and may, {} are equal\n", rows.size() > 1 ? "\n" : "",
                        print_count(comparison.differences), print_count(within), print_count(equal));
    return text;
}

} // namespace hcasim

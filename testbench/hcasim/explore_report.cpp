#include "testbench/hcasim/explore_report.h"

#include "testbench/hcasim/table.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>

namespace hcasim {

namespace race = scenario::race;
using race::Outcome;
using race::Setup;

namespace {

constexpr std::size_t told_per_row = 3; ///< violations told in full, of a row and variant
constexpr std::size_t told_of_nothing = 10;

std::string share(std::uint64_t part, std::uint64_t all) {
    return all == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(all));
}

} // namespace

void ExploreReport::Tally::add(const Tally& other) {
    points += other.points;
    runs += other.runs;
    overlapped += other.overlapped;
    overlapped_end += other.overlapped_end;
    violations += other.violations;
    instants.insert(other.instants.begin(), other.instants.end());
    for (const auto& [status, count] : other.completions)
        completions[status] += count;
    for (const auto& [event, met] : other.behind) {
        auto& mine = behind[event];
        mine.runs += met.runs;
        mine.overlapped += met.overlapped;
        mine.violations += met.violations;
    }
}

namespace {

/// As it stands in its table; behind all of them where it is none.
template <class R> std::size_t place_of(const R* row, std::span<const R* const> rows) {
    return static_cast<std::size_t>(std::ranges::find(rows, row) - rows.begin());
}

} // namespace

ExploreReport::Row ExploreReport::row_of(const Setup& setup) {
    const auto& subject = *setup.subject;
    const auto place = [&](const race::Action* action) {
        return action == nullptr ? 0 : place_of(action, subject.actions()) + 1;
    };
    return {place_of(setup.operation, subject.operations()), place_of(setup.victim, subject.victims()),
            place(setup.actions[0]), place(setup.actions[1])};
}

std::vector<std::string> ExploreReport::name(const Setup& setup) {
    return {std::string(setup.operation->name()), std::string(setup.victim->name()), race::name(setup.actions)};
}

std::vector<std::string> ExploreReport::cells_of(const Tally& tally) {
    std::string completions;
    for (const auto& [status, count] : tally.completions)
        completions += fmt::format("{}{} {}", completions.empty() ? "" : ", ", count, status);
    return {std::to_string(tally.points),          std::to_string(tally.runs),
            share(tally.overlapped, tally.runs),   share(tally.overlapped_end, tally.runs),
            std::to_string(tally.instants.size()), completions,
            std::to_string(tally.violations)};
}

std::string ExploreReport::command(const Task& task, bool is_bare) const {
    const auto& setup = task.setup;
    const auto names = name(setup);
    const auto& variant = variants_[task.variant];
    auto text = fmt::format("hcasim explore {} --victim {} --inject {}", names[0], names[1], names[2]);
    if (!is_bare)
        text += fmt::format(" --at {}{}", setup.point, setup.is_late ? " --late" : "");
    text += fmt::format(" --bytes {}", setup.bytes);
    if (variant.importers != 1)
        text += fmt::format(" --importers {}", variant.importers);
    if (!options_.plant.empty())
        text += fmt::format(" --plant {}", options_.plant);
    if (options_.has_alike_owner)
        text += " --alike";
    if (options_.is_monitored)
        text += " --monitor";
    text += " --sweep none";
    for (const auto* list : {&variant.overrides, &options_.overrides})
        for (const auto& one : *list)
            text += fmt::format(" --set {}", one.find(' ') == one.npos ? one : fmt::format("'{}'", one));
    return text;
}

void ExploreReport::expect(const Task& task, const Outcome& undisturbed) {
    auto& cell = cells_[{row_of(task.setup), task.variant}];
    cell.name = name(task.setup);
    cell.undisturbed = undisturbed.touches;
    cell.tally.points = undisturbed.points;
}

void ExploreReport::take_undisturbed(const Task& task, const Outcome& outcome) {
    if (!outcome.violations.empty())
        told_.push_back(fmt::format("without any action: {}\n  again: {}", fmt::join(outcome.violations, "\n  and: "),
                                    command(task, true)));
}

void ExploreReport::take(const Task& task, const Outcome& outcome) {
    ++done_;
    progress();
    if (!outcome.is_reached && outcome.violations.empty())
        return; // the run was over before
    auto& cell = cells_[{row_of(task.setup), task.variant}];
    auto& tally = cell.tally;
    ++tally.runs;
    const bool is_under_way = race::has_overlapped(cell.undisturbed, outcome);
    tally.overlapped += is_under_way;
    auto& met = tally.behind[outcome.behind + (task.setup.is_late ? ", at its time" : "")];
    ++met.runs;
    met.overlapped += is_under_way;
    met.violations += !outcome.violations.empty();
    tally.overlapped_end += race::has_overlapped_end(cell.undisturbed, outcome);
    tally.instants.insert(outcome.at_ps);
    ++tally.completions[outcome.completion.empty() ? "none" : outcome.completion];
    if (outcome.violations.empty())
        return;
    if (++tally.violations <= told_per_row || options_.at)
        told_.push_back(
            fmt::format("{}\n  again: {}", fmt::join(outcome.violations, "\n  and: "), command(task, false)));
}

int ExploreReport::print() const {
    std::map<Row, std::pair<std::vector<std::string>, Tally>> rows;
    std::vector<Tally> by_variant(variants_.size());
    std::vector<std::string> nothing;
    Tally all;
    for (const auto& [key, cell] : cells_) {
        const auto& [row, variant] = key;
        rows[row].first = cell.name;
        rows[row].second.add(cell.tally);
        by_variant[variant].add(cell.tally);
        all.add(cell.tally);
        if (cell.tally.overlapped == 0 && !options_.at)
            nothing.push_back(
                fmt::format("{}{}{}: tested nothing: in none of {} runs the action met the transfer under way",
                            fmt::join(cell.name, " "), variants_[variant].name.empty() ? "" : ", ",
                            variants_[variant].name, cell.tally.runs));
    }
    const std::vector<std::string> heads{"points",   "runs",        "overlap",   "at its end",
                                         "instants", "completions", "violations"};
    std::vector<std::vector<std::string>> table{{"scenario", "memory of", "inject"}};
    table.front().insert(table.front().end(), heads.begin(), heads.end());
    for (const auto& [row, named] : rows) {
        table.push_back(named.first);
        const auto cells = cells_of(named.second);
        table.back().insert(table.back().end(), cells.begin(), cells.end());
    }
    fmt::print("\n{}\n", print_table(table));
    if (variants_.size() > 1) {
        table = {{"variant", "runs", "overlap", "at its end", "violations"}};
        for (std::size_t i = 0; i < variants_.size(); ++i) {
            const auto& tally = by_variant[i];
            table.push_back({variants_[i].name, std::to_string(tally.runs), share(tally.overlapped, tally.runs),
                             share(tally.overlapped_end, tally.runs), std::to_string(tally.violations)});
        }
        fmt::print("{}\n", print_table(table));
    }
    table = {{"the action began at", "runs", "overlap", "violations"}};
    for (const auto& [event, met] : all.behind)
        table.push_back(
            {event, std::to_string(met.runs), share(met.overlapped, met.runs), std::to_string(met.violations)});
    fmt::print("{}\n", print_table(table));
    fmt::print("{} runs, {} violations; the action met the transfer under way in {} of them, and had an end before the "
               "transfer's in {}\n",
               all.runs, all.violations, share(all.overlapped, all.runs), share(all.overlapped_end, all.runs));
    for (const auto& one : told_)
        fmt::print("\nviolation: {}\n", one);
    for (std::size_t i = 0; i < nothing.size() && i < told_of_nothing; ++i)
        fmt::print("\n{}\n", nothing[i]);
    if (nothing.size() > told_of_nothing)
        fmt::print("\n{} more rows tested nothing\n", nothing.size() - told_of_nothing);
    if (all.violations != 0 || !told_.empty())
        return status::failed;
    return nothing.empty() ? status::good : status::tested_nothing;
}

void ExploreReport::progress() {
    const auto now = std::chrono::steady_clock::now();
    const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
    if (done_ != all_ && now - last_ < (is_terminal ? std::chrono::milliseconds{200} : std::chrono::milliseconds{5000}))
        return;
    last_ = now;
    complain(fmt::format("{}  {} of {} runs{}", is_terminal ? "\r" : "", done_, all_,
                         is_terminal && done_ != all_ ? "" : "\n"));
}

} // namespace hcasim

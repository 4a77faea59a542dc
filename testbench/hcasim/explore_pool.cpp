#include "testbench/hcasim/explore_pool.h"

#include "testbench/harness/monitored.h"
#include "testbench/hcasim/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace hcasim {

using scenario::race::Outcome;

std::string print_outcome(const Outcome& outcome) {
    auto text = fmt::format("points {}\ntouches {} {} {}\nat {}\nreached {}\nbegun {}\ntouched {} {}\ncompletion {}\n",
                            outcome.points, outcome.touches.count, outcome.touches.first, outcome.touches.last,
                            outcome.at_ps, outcome.is_reached ? 1 : 0, outcome.has_begun ? 1 : 0, outcome.touched,
                            outcome.touched_at_end, outcome.completion);
    text += fmt::format("behind {}\ntranslations {}\nforwards {}\njudgements {}\n", outcome.behind,
                        fmt::join(outcome.touches.translations, " "), fmt::join(outcome.touches.forwards, " "),
                        fmt::join(outcome.judgements, " "));
    for (auto violation : outcome.violations) {
        std::ranges::replace(violation, '\n', ' ');
        text += fmt::format("violation {}\n", violation);
    }
    return text + "end\n";
}

std::optional<Outcome> parse_outcome(std::string_view text) {
    Outcome outcome;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const auto word = line.substr(0, line.find(' '));
        const std::string rest(line.substr(std::min(line.size(), word.size() + 1)));
        std::istringstream numbers(rest);
        if (word == "points")
            numbers >> outcome.points;
        else if (word == "touches")
            numbers >> outcome.touches.count >> outcome.touches.first >> outcome.touches.last;
        else if (word == "at")
            numbers >> outcome.at_ps;
        else if (word == "reached")
            outcome.is_reached = rest == "1";
        else if (word == "begun")
            outcome.has_begun = rest == "1";
        else if (word == "touched")
            numbers >> outcome.touched >> outcome.touched_at_end;
        else if (word == "completion")
            outcome.completion = rest;
        else if (word == "behind")
            outcome.behind = rest;
        else if (word == "translations")
            outcome.touches.translations.assign(std::istream_iterator<std::uint64_t>(numbers), {});
        else if (word == "forwards")
            outcome.touches.forwards.assign(std::istream_iterator<std::uint64_t>(numbers), {});
        else if (word == "judgements")
            outcome.judgements.assign(std::istream_iterator<std::uint64_t>(numbers), {});
        else if (word == "violation")
            outcome.violations.push_back(rest);
        else if (word == "end")
            return outcome;
    }
    return {};
}

namespace {

Outcome outcome_of(const std::string& said, const std::string& end) {
    if (const auto outcome = parse_outcome(said))
        return *outcome;
    Outcome lost;
    lost.is_reached = true;
    lost.violations.push_back(end);
    return lost;
}

} // namespace

void Pool::run(std::span<const Task> tasks, const Done& done) {
    processes_.run(
        tasks.size(), [&](std::size_t number) { return print_outcome(run_one(tasks[number])); },
        [&](std::size_t number, const std::string& said, const std::string& end) {
            done(tasks[number], outcome_of(said, end));
        });
}

Outcome Pool::run_one(const Task& task) const {
    const auto& config = configs_[task.variant];
    if (!is_monitored_)
        return task.setup.subject->run(config, task.setup);
    harness::Monitored monitored(config);
    auto outcome = task.setup.subject->run(config, task.setup, &monitored.recording());
    // What the actions have cut short is not answered any more.
    for (const auto& violation : monitored.finish(harness::Monitored::End::torn))
        outcome.violations.push_back("monitor: " + violation.text());
    for (const auto& verdict : monitored.verdicts())
        outcome.judgements.push_back(verdict.judgements);
    return outcome;
}

std::expected<Outcome, std::string> Pool::record(const Task& task, const std::string& path) {
    const auto& config = configs_[task.variant];
    const auto recording = make_recording({.path = path}, config);
    if (!recording)
        return std::unexpected(recording.error());
    Outcome got;
    processes_.run(
        1,
        [&](std::size_t) {
            auto outcome = task.setup.subject->run(config, task.setup, recording->get());
            if (const auto closed = (*recording)->close(); !closed)
                outcome.behind = closed.error();
            else
                outcome.behind.clear();
            return print_outcome(outcome);
        },
        [&](std::size_t, const std::string& said, const std::string& end) { got = outcome_of(said, end); });
    if (!got.behind.empty())
        return std::unexpected(got.behind);
    return got;
}

} // namespace hcasim

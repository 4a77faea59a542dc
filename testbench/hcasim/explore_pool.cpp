#include "testbench/hcasim/explore_pool.h"

#include "testbench/harness/monitored.h"
#include "testbench/hcasim/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace hcasim {

using scenario::race::Outcome;

namespace {
constexpr unsigned patience_seconds = 120; ///< of wall time, for one run
}

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

void Pool::run(std::span<const Task> tasks, const Done& done) {
    auto next = tasks.begin();
    while (next != tasks.end() || !children_.empty()) {
        while (next != tasks.end() && children_.size() < jobs_) {
            const auto& task = *next++;
            start(task, [&] { return print_outcome(run_one(task)); });
        }
        listen(done);
    }
}

Outcome Pool::run_one(const Task& task) const {
    const auto& config = configs_[task.variant];
    if (!is_monitored_)
        return scenario::race::run(config, task.setup);
    harness::Monitored monitored(config);
    auto outcome = scenario::race::run(config, task.setup, &monitored.recording());
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
    start(task, [&] {
        auto outcome = scenario::race::run(config, task.setup, recording->get());
        if (const auto closed = (*recording)->close(); !closed)
            outcome.behind = closed.error();
        else
            outcome.behind.clear();
        return print_outcome(outcome);
    });
    std::optional<Outcome> got;
    while (!got)
        listen([&](const Task&, const Outcome& outcome) { got = outcome; });
    if (!got->behind.empty())
        return std::unexpected(got->behind);
    return *got;
}

void Pool::start(const Task& task, const Race& race) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0)
        throw std::runtime_error(fmt::format("pipe: {}", std::strerror(errno)));
    std::fflush(nullptr);
    const auto process = ::fork();
    if (process < 0)
        throw std::runtime_error(fmt::format("fork: {}", std::strerror(errno)));
    if (process == 0) {
        for (const auto& child : children_)
            ::close(child.pipe);
        ::close(ends[0]);
        ::alarm(patience_seconds);
        const auto text = race();
        for (std::size_t at = 0; at < text.size();) {
            const auto count = ::write(ends[1], text.data() + at, text.size() - at);
            if (count <= 0)
                break;
            at += static_cast<std::size_t>(count);
        }
        ::_exit(0); // what is left belongs to the parent
    }
    ::close(ends[1]);
    children_.push_back({process, ends[0], task});
}

void Pool::listen(const Done& done) {
    std::vector<pollfd> waiting;
    for (const auto& child : children_)
        waiting.push_back({child.pipe, POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), -1) <= 0)
        return;
    for (std::size_t i = waiting.size(); i-- != 0;) {
        if (waiting[i].revents == 0)
            continue;
        std::array<char, 4096> buffer;
        const auto count = ::read(children_[i].pipe, buffer.data(), buffer.size());
        if (count > 0) {
            children_[i].said.append(buffer.data(), static_cast<std::size_t>(count));
            continue;
        }
        const auto child = std::move(children_[i]);
        children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
        done(child.task, end(child));
    }
}

Outcome Pool::end(const Child& child) {
    ::close(child.pipe);
    int status = 0;
    ::waitpid(child.process, &status, 0);
    if (const auto outcome = parse_outcome(child.said))
        return *outcome;
    Outcome lost;
    lost.is_reached = true;
    lost.violations.push_back(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
                                  ? fmt::format("no end within {} s", patience_seconds)
                                  : fmt::format("the process ended by {} {}", WIFSIGNALED(status) ? "signal" : "status",
                                                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
    return lost;
}

} // namespace hcasim

#include "testbench/hcasim/explore.h"

#include "platform/topology/read.h"
#include "testbench/hcasim/console.h"
#include "testbench/hcasim/status.h"
#include "testbench/hcasim/table.h"
#include "testbench/scenario/race.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <expected>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

namespace hcasim {
namespace {

namespace race = scenario::race;
using platform::topology::Config;
using race::Outcome;
using race::Setup;

constexpr int good = status::good, violated = status::failed;
constexpr unsigned patience_seconds = 120; ///< of wall time, for one run
constexpr std::size_t told_per_row = 3;    ///< violations told in full

/// The number of a name in a list; "all" and an empty wish stand for all but those named "none".
std::expected<std::vector<unsigned>, std::string> choose(std::string_view what, const std::vector<std::string>& wanted,
                                                         std::span<const std::string_view> names) {
    std::vector<unsigned> chosen;
    for (const auto& wish : wanted) {
        const auto row = std::ranges::find(names, wish);
        if (row == names.end() && wish != "all")
            return std::unexpected(
                fmt::format("unknown {} '{}', there are: all {}", what, wish, fmt::join(names, " ")));
        if (row != names.end())
            chosen.push_back(static_cast<unsigned>(row - names.begin()));
    }
    if (wanted.empty() || std::ranges::find(wanted, "all") != wanted.end()) {
        chosen.clear();
        for (unsigned i = 0; i < names.size(); ++i)
            if (names[i] != "none")
                chosen.push_back(i);
    }
    return chosen;
}

// --- one run, in a process of its own ---

/// What the child says: a line for each fact.
std::string print(const Outcome& outcome) {
    auto text = fmt::format("points {}\nat {}\nreached {}\ncompletion {}\n", outcome.points, outcome.at_ps,
                            outcome.is_reached ? 1 : 0, outcome.completion);
    for (auto violation : outcome.violations) {
        std::ranges::replace(violation, '\n', ' ');
        text += fmt::format("violation {}\n", violation);
    }
    return text + "end\n";
}

std::optional<Outcome> parse(std::string_view text) {
    Outcome outcome;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const auto word = line.substr(0, line.find(' '));
        const std::string rest(line.substr(std::min(line.size(), word.size() + 1)));
        if (word == "points")
            outcome.points = std::stoull(rest);
        else if (word == "at")
            outcome.at_ps = std::stoull(rest);
        else if (word == "reached")
            outcome.is_reached = rest == "1";
        else if (word == "completion")
            outcome.completion = rest;
        else if (word == "violation")
            outcome.violations.push_back(rest);
        else if (word == "end")
            return outcome;
    }
    return {};
}

struct Child {
    pid_t process = -1;
    int pipe = -1;
    Setup setup;
    std::string said;
};

/// Runs of a list of setups, several at a time.
class Pool {
public:
    Pool(const Config& config, unsigned jobs) : config_(config), jobs_(jobs) {}

    using Done = std::function<void(const Setup&, const Outcome&)>;
    void run(std::span<const Setup> setups, const Done& done) {
        auto next = setups.begin();
        while (next != setups.end() || !children_.empty()) {
            while (next != setups.end() && children_.size() < jobs_)
                start(*next++);
            listen(done);
        }
    }

private:
    void start(const Setup& setup) {
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
            const auto text = print(race::run(config_, setup));
            for (std::size_t at = 0; at < text.size();) {
                const auto count = ::write(ends[1], text.data() + at, text.size() - at);
                if (count <= 0)
                    break;
                at += static_cast<std::size_t>(count);
            }
            ::_exit(0); // what is left belongs to the parent
        }
        ::close(ends[1]);
        children_.push_back({process, ends[0], setup, {}});
    }

    void listen(const Done& done) {
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
            done(child.setup, end(child));
        }
    }

    static Outcome end(const Child& child) {
        ::close(child.pipe);
        int status = 0;
        ::waitpid(child.process, &status, 0);
        if (const auto outcome = parse(child.said))
            return *outcome;
        Outcome lost;
        lost.is_reached = true;
        lost.violations.push_back(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
                                      ? fmt::format("no end within {} s", patience_seconds)
                                      : fmt::format("the process ended by {} {}",
                                                    WIFSIGNALED(status) ? "signal" : "status",
                                                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
        return lost;
    }

    const Config& config_;
    unsigned jobs_;
    std::vector<Child> children_;
};

// --- all of them ---

std::string_view name(race::Operation operation) { return race::operations()[static_cast<unsigned>(operation)]; }
std::string_view name(race::Action action) { return race::actions()[static_cast<unsigned>(action)]; }
std::string_view name(race::Victim victim) { return race::victims()[static_cast<unsigned>(victim)]; }

std::string command(const ExploreOptions& options, const Setup& setup) {
    auto text = fmt::format("hcasim explore {} --victim {} --inject {} --at {} --bytes {}", name(setup.operation),
                            name(setup.victim), name(setup.action), setup.point, setup.bytes);
    if (!options.plant.empty())
        text += fmt::format(" --plant {}", options.plant);
    if (options.has_alike_owner)
        text += " --alike";
    for (const auto& one : options.overrides)
        text += fmt::format(" --set {}", one);
    return text;
}

struct Row {
    std::uint64_t points = 0, runs = 0, violations = 0;
    std::set<std::uint64_t> instants; ///< at which the action began
    std::map<std::string, std::uint64_t> completions;
};

class Report {
public:
    explicit Report(const ExploreOptions& options) : options_(options) {}

    void take(const Setup& setup, const Outcome& outcome) {
        ++done_;
        progress();
        if (!outcome.is_reached && outcome.violations.empty())
            return; // the run was over before
        auto& row = row_of(setup);
        ++row.runs;
        row.instants.insert(outcome.at_ps);
        ++row.completions[outcome.completion.empty() ? "none" : outcome.completion];
        if (outcome.violations.empty())
            return;
        if (++row.violations <= told_per_row || options_.at)
            told_.push_back(
                fmt::format("{}\n  again: {}", fmt::join(outcome.violations, "\n  and: "), command(options_, setup)));
    }
    Row& row_of(const Setup& setup) {
        return rows_[{static_cast<unsigned>(setup.operation), static_cast<unsigned>(setup.victim),
                      static_cast<unsigned>(setup.action)}];
    }
    void expect(std::uint64_t runs) { all_ += runs; }
    void tell(std::string violation) { told_.push_back(std::move(violation)); }

    int print() const {
        std::vector<std::vector<std::string>> cells{
            {"scenario", "memory of", "inject", "points", "runs", "instants", "completions", "violations"}};
        std::uint64_t runs = 0, violations = 0;
        for (const auto& [key, row] : rows_) {
            const auto& [operation, victim, action] = key;
            std::string completions;
            for (const auto& [status, count] : row.completions)
                completions += fmt::format("{}{} {}", completions.empty() ? "" : ", ", count, status);
            cells.push_back({std::string(race::operations()[operation]), std::string(race::victims()[victim]),
                             std::string(race::actions()[action]), std::to_string(row.points), std::to_string(row.runs),
                             std::to_string(row.instants.size()), completions, std::to_string(row.violations)});
            runs += row.runs, violations += row.violations;
        }
        fmt::print("\n{}\n{} runs, {} violations\n", print_table(cells), runs, violations);
        for (const auto& one : told_)
            fmt::print("\nviolation: {}\n", one);
        return violations == 0 && told_.empty() ? good : violated;
    }

private:
    void progress() {
        const auto now = std::chrono::steady_clock::now();
        const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
        if (done_ != all_ &&
            now - last_ < (is_terminal ? std::chrono::milliseconds{200} : std::chrono::milliseconds{5000}))
            return;
        last_ = now;
        fmt::print(stderr, "{}  {} of {} runs{}", is_terminal ? "\r" : "", done_, all_,
                   is_terminal && done_ != all_ ? "" : "\n");
    }

    const ExploreOptions& options_;
    std::map<std::array<unsigned, 3>, Row> rows_;
    std::vector<std::string> told_;
    std::uint64_t done_ = 0, all_ = 0;
    std::chrono::steady_clock::time_point last_{};
};

} // namespace

int explore(const ExploreOptions& options) {
    auto overrides = options.overrides;
    // The smallest steps: a queue pair's turn is one packet. What somebody sets comes later and counts.
    overrides.insert(overrides.begin(), {"hca.packets_per_turn=1", "gpu.vram=16 MiB", "observe.ownership=true"});
    auto config = platform::topology::parse_config("", "--set", overrides);
    if (!config)
        return refuse(config.error());
    // And of time: a packet is sent when the one before has left, and arrives in a step of its own.
    config->link.quantum = {};
    config->link.horizon = std::chrono::nanoseconds{1};
    const auto operations = choose("scenario", options.operations, race::operations()),
               victims = choose("side", options.victims, race::victims()),
               plants = choose("mistake", {options.plant.empty() ? "none" : options.plant}, race::plants());
    auto actions = choose("action", options.actions, race::actions());
    for (const auto* chosen : {&operations, &std::as_const(actions), &victims, &plants})
        if (!*chosen)
            return refuse(chosen->error());
    if (plants->size() != 1)
        return refuse("one mistake at a time");
    const auto plant = static_cast<race::Plant>(plants->front());
    // What only a remapping unit can stop or get wrong.
    if (!config->iommu.is_present) {
        if (std::ranges::find(options.actions, "release") != options.actions.end() ||
            plant == race::Plant::missing_invalidation)
            return refuse("memory that is given back under a live key is a remapping unit's affair: --set "
                          "iommu.present=true");
        std::erase(*actions, static_cast<unsigned>(race::Action::release));
    }

    Report report(options);
    Pool pool(*config, options.jobs != 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency()));
    std::vector<Setup> bare;
    for (const auto operation : *operations)
        for (const auto victim : *victims)
            bare.push_back({.operation = static_cast<race::Operation>(operation),
                            .action = race::Action::none,
                            .victim = static_cast<race::Victim>(victim),
                            .bytes = options.bytes,
                            .has_alike_owner = options.has_alike_owner});
    std::vector<Setup> setups;
    pool.run(bare, [&](const Setup& setup, const Outcome& outcome) {
        if (!outcome.violations.empty())
            report.tell(fmt::format("without any action: {}\n  again: {}", fmt::join(outcome.violations, "\n  and: "),
                                    command(options, setup)));
        for (const auto action : *actions) {
            auto one = setup;
            one.action = static_cast<race::Action>(action);
            one.plant = plant;
            report.row_of(one).points = outcome.points;
            for (one.point = options.at.value_or(0); one.point < outcome.points;
                 one.point += std::max<std::uint64_t>(1, options.every)) {
                setups.push_back(one);
                if (options.at)
                    break;
            }
        }
    });
    report.expect(setups.size());
    pool.run(setups, [&](const Setup& setup, const Outcome& outcome) { report.take(setup, outcome); });
    return report.print();
}

} // namespace hcasim

#include "testbench/hcasim/explore_fences.h"

#include "platform/topology/read.h"
#include "testbench/hcasim/explore_processes.h"
#include "testbench/hcasim/table.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/scenario/gpu_fences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

namespace hcasim {
namespace {

namespace fences = scenario::fences;
using fences::Outcome;
using fences::Program;
using fences::Removal;
using fences::World;
using platform::topology::Config;

constexpr std::string_view all_programs = "gpu";

/// One interleaving of one program without one thing.
struct Run {
    const Program* program = nullptr;
    const Removal* removal = nullptr;
    std::uint64_t interleaving = 0; ///< its number, from which world and seed follow

    const World& world() const { return fences::worlds()[interleaving % fences::worlds().size()]; }
    std::uint64_t seed() const { return interleaving / fences::worlds().size() + 1; }
};

struct Tally {
    std::uint64_t runs = 0, met = 0;
    std::map<std::string, std::uint64_t> ends; ///< but for the correct ones
    std::uint64_t failures() const {
        std::uint64_t sum = 0;
        for (const auto& [end, count] : ends)
            sum += count;
        return sum;
    }
    void add(const Outcome& outcome) {
        ++runs;
        met += outcome.has_met;
        if (!outcome.is_correct())
            ++ends[outcome.end];
    }
};

/// Of a program and a removal.
struct Row {
    Tally all;
    std::map<const World*, Tally> by_world;
    std::optional<Run> first; ///< that failed
    Outcome how;              ///< it did
};

std::string print_outcome(const Outcome& outcome) {
    auto text = outcome.explanation;
    std::ranges::replace(text, '\n', ' ');
    return fmt::format("{}\n{}\n{}\n", outcome.end, outcome.has_met ? "met" : "not met", text);
}

Outcome parse_outcome(std::string_view said, const std::string& end) {
    std::array<std::string, 3> lines;
    for (auto& line : lines) {
        const auto stop = said.find('\n');
        if (stop == said.npos)
            return {.end = "lost", .explanation = end, .has_met = true};
        line = said.substr(0, stop);
        said.remove_prefix(stop + 1);
    }
    return {.end = lines[0], .explanation = lines[2], .has_met = lines[1] == "met"};
}

class Exploration {
public:
    explicit Exploration(const ExploreOptions& options)
        : options_(options),
          processes_(options.jobs != 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency())) {}

    /// The error is one line: a configuration is wrong, or a name.
    std::expected<void, std::string> plan() {
        std::vector<std::string> wrong(options_.actions);
        for (const auto* program : fences::programs()) {
            if (!is_wanted(program->name()))
                continue;
            if (const auto config = platform::topology::parse_config(program->platform(), "--set", options_.overrides);
                !config)
                return std::unexpected(config.error());
            for (const auto& removal : program->removals()) {
                const bool is_asked = options_.actions.empty() || is_among(options_.actions, removal.name) ||
                                      is_among(options_.actions, "all");
                std::erase_if(wrong, [&](const std::string& one) { return one == removal.name || one == "all"; });
                if (is_asked)
                    add(*program, removal);
            }
        }
        if (!wrong.empty())
            return std::unexpected(unknown(wrong.front()));
        if (runs_.empty())
            return std::unexpected(std::string("the keys that are set leave no world to run in"));
        return {};
    }

    int run() {
        processes_.run(
            runs_.size(), [&](std::size_t number) { return print_outcome(run_one(runs_[number])); },
            [&](std::size_t number, const std::string& said, const std::string& end) {
                take(runs_[number], parse_outcome(said, end));
                ++done_;
                progress();
            });
        return options_.at ? tell_one() : print();
    }

private:
    void progress() {
        const auto now = std::chrono::steady_clock::now();
        if (done_ != runs_.size() && now - last_ < std::chrono::seconds{5})
            return;
        last_ = now;
        complain(fmt::format("  {} of {} runs\n", done_, runs_.size()));
    }
    static bool is_among(std::span<const std::string> names, std::string_view name) {
        return std::ranges::find(names, name) != names.end();
    }
    bool is_wanted(std::string_view program) const {
        return is_among(options_.operations, program) || is_among(options_.operations, all_programs);
    }
    std::string unknown(const std::string& name) const {
        std::string names;
        for (const auto* program : fences::programs())
            if (is_wanted(program->name()))
                for (const auto& removal : program->removals())
                    if (!names.contains(removal.name))
                        names.append(" ").append(removal.name);
        return fmt::format("unknown fence '{}', there are: all{}", name, names);
    }

    /// As the overrides allow: a key that they hold keeps worlds out that say otherwise.
    bool is_allowed(const Program& program, const Run& run) const {
        return std::ranges::none_of(options_.overrides, [&](const std::string& one) {
            return std::ranges::any_of(program.gpus(), [&](std::string_view gpu) {
                const auto key = fmt::format("{}.profile=", gpu);
                return one.starts_with(key) && one != key + std::to_string(run.world().profile);
            });
        });
    }
    std::expected<Config, std::string> config_of(const Run& run) const {
        std::vector<std::string> keys{"observe.ownership=true"};
        for (const auto gpu : run.program->gpus()) {
            keys.push_back(fmt::format("{}.profile={}", gpu, run.world().profile));
            keys.push_back(fmt::format("{}.seed={}", gpu, run.seed()));
        }
        keys.insert(keys.end(), options_.overrides.begin(), options_.overrides.end());
        return platform::topology::parse_config(run.program->platform(), "--set", keys);
    }
    /// Runs of all interleavings, or of the one that was asked for.
    void add(const Program& program, const Removal& removal) {
        const auto first = options_.at.value_or(0);
        const auto count = options_.at ? 1 : options_.points * fences::worlds().size();
        for (auto number = first; number < first + count; ++number)
            if (const Run run{&program, &removal, number}; is_allowed(program, run))
                runs_.push_back(run);
    }
    Outcome run_one(const Run& run) const {
        return run.program->run(config_of(run).value(), // which differs from one that was tried in its seed
                                {.removal = run.removal, .world = &run.world(), .seed = run.seed()});
    }
    void take(const Run& run, const Outcome& outcome) {
        auto& row = rows_[{run.program, run.removal}];
        row.all.add(outcome);
        row.by_world[&run.world()].add(outcome);
        if (outcome.is_correct() || (row.first && row.first->interleaving < run.interleaving))
            return;
        row.first = run;
        row.how = outcome;
    }

    std::string command(const Run& run) const {
        auto text = fmt::format("hcasim explore {} --inject {} --at {}", run.program->name(), run.removal->name,
                                run.interleaving);
        for (const auto& one : options_.overrides)
            text += fmt::format(" --set {}", one);
        return text;
    }
    static std::string without(const Removal& removal) {
        return removal.is_nothing() ? std::string("with nothing left out") : fmt::format("without {}", removal.name);
    }

    int tell_one() const {
        bool is_correct = true;
        for (const auto& run : runs_) {
            const auto& row = rows_.at({run.program, run.removal});
            fmt::print("{} {}, {}, seed {}: {}{}{}\n", run.program->name(), without(*run.removal), run.world().name,
                       run.seed(), row.first ? row.how.end : "correct", row.first ? ": " : "", row.how.explanation);
            is_correct &= !row.first;
        }
        return is_correct ? status::good : status::failed;
    }

    int print() const {
        std::vector<std::vector<std::string>> table{
            {"program", "left out", "interleavings", "met", "fail", "stuck", "wrong data", "error", "other"}};
        bool is_broken = false, has_tested_nothing = false;
        for_each_row([&](const Run& run, const Row& row) {
            const auto count = [&](const char* end) {
                const auto found = row.all.ends.find(end);
                return found == row.all.ends.end() ? std::uint64_t{0} : found->second;
            };
            const auto known = count("stuck") + count("wrong data") + count("error");
            table.push_back({std::string(run.program->name()), std::string(run.removal->name),
                             std::to_string(row.all.runs),
                             run.removal->is_nothing() ? std::string("-") : std::to_string(row.all.met),
                             std::to_string(row.all.failures()), std::to_string(count("stuck")),
                             std::to_string(count("wrong data")), std::to_string(count("error")),
                             std::to_string(row.all.failures() - known)});
            is_broken |= run.removal->is_nothing() && row.first;
            has_tested_nothing |= row.all.met == 0 && run.removal->moot.empty();
        });
        fmt::print("\n{}\n", print_table(table));
        table = {{"program", "left out", "world", "fail", "of", "where it never fails"}};
        for_each_row([&](const Run& run, const Row& row) {
            if (!run.removal->is_nothing())
                for (const auto& world : fences::worlds())
                    if (const auto found = row.by_world.find(&world); found != row.by_world.end())
                        table.push_back({std::string(run.program->name()), std::string(run.removal->name),
                                         std::string(world.name), std::to_string(found->second.failures()),
                                         std::to_string(found->second.runs),
                                         why_not(*run.removal, world, found->second)});
        });
        fmt::print("{}", print_table(table));
        for_each_row([&](const Run& run, const Row& row) { tell(run, row); });
        return is_broken ? status::failed : has_tested_nothing ? status::tested_nothing : status::good;
    }
    static std::string why_not(const Removal& removal, const World& world, const Tally& tally) {
        if (tally.failures() != 0)
            return {};
        const auto why = fences::why_redundant(removal, world);
        return !why.empty()     ? std::string(why)
               : tally.met == 0 ? "what it is against was not met"
                                : "what it is against was met, and nothing was lost";
    }
    void tell(const Run& run, const Row& row) const {
        const auto what = fmt::format("{} {}", run.program->name(), without(*run.removal));
        if (row.first)
            fmt::print("\n{}{} fails first at interleaving {} ({}, seed {}): {}: {}\n  again: {}\n",
                       run.removal->is_nothing() ? "violation: " : "", what, row.first->interleaving,
                       row.first->world().name, row.first->seed(), row.how.end, row.how.explanation,
                       command(*row.first));
        else if (row.all.met == 0 && !run.removal->moot.empty())
            fmt::print("\n{} cannot fail: {}\n", what, run.removal->moot);
        else if (row.all.met == 0)
            fmt::print("\n{}: tested nothing: what it is against was met in none of {} interleavings\n", what,
                       row.all.runs);
        else if (!run.removal->is_nothing())
            fmt::print("\n{} never fails, in none of {} interleavings, {} of which had what it is against\n", what,
                       row.all.runs, row.all.met);
    }
    /// In the order of the tables, `visit(run, row)` with one run of each.
    template <class Visit> void for_each_row(Visit&& visit) const {
        for (const auto* program : fences::programs())
            for (const auto& removal : program->removals())
                if (const auto found = rows_.find({program, &removal}); found != rows_.end())
                    visit(Run{program, &removal}, found->second);
    }

    const ExploreOptions& options_;
    Processes processes_;
    std::vector<Run> runs_;
    std::map<std::pair<const Program*, const Removal*>, Row> rows_;
    std::size_t done_ = 0;
    std::chrono::steady_clock::time_point last_{};
};

} // namespace

bool are_gpu_programs(std::span<const std::string> names) {
    return !names.empty() && std::ranges::all_of(names, [](const std::string& name) {
        return name == all_programs ||
               std::ranges::find(fences::programs(), name, &Program::name) != fences::programs().end();
    });
}

int explore_fences(const ExploreOptions& options) {
    if (!options.victims.empty() || !options.plant.empty() || !options.record.empty() || options.is_monitored ||
        options.is_late || options.has_alike_owner || options.importers != 0 || options.every)
        return refuse("programs of a GPU have seeds and worlds alone: of the options --inject, --points, --at, --jobs "
                      "and --set");
    Exploration exploration(options);
    if (const auto planned = exploration.plan(); !planned)
        return refuse(planned.error());
    return exploration.run();
}

} // namespace hcasim

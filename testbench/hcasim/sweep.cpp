#include "testbench/hcasim/sweep.h"

#include "platform/topology/effect.h"
#include "platform/topology/keys.h"
#include "platform/topology/read.h"
#include "testbench/hcasim/interrupt.h"
#include "testbench/hcasim/payload.h"
#include "testbench/hcasim/run.h"
#include "testbench/hcasim/sweep_check.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/program/version.h"
#include "testbench/study/answer.h"
#include "testbench/study/plan.h"
#include "testbench/study/read_study.h"
#include "testbench/study/runner.h"
#include "testbench/study/slurm_engine.h"
#include "testbench/study/slurm_task.h"
#include "testbench/study/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <expected>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace hcasim {
namespace {

std::string print_seconds(double seconds) {
    return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

/// "12 of 40 points, 1 failed, 2 min left"
std::string print_progress(const study::Progress& progress) {
    auto text = fmt::format("{} of {} points", progress.done, progress.planned);
    if (progress.failed != 0)
        text += fmt::format(", {} failed", progress.failed);
    if (progress.done != progress.planned)
        text += fmt::format(", {} left", print_seconds(progress.seconds_left));
    return text;
}

int print_digest(const std::string& path) {
    auto store = study::Store::read(path);
    if (!store)
        return refuse(store.error());
    Console console(stdout, Console::Speech::all);
    console.say(fmt::format("{}\n", store->digest()));
    return console.is_good() ? status::good : status::output_lost;
}

/// How to go on, in the words of a shell.
std::string again(const SweepOptions& options) {
    auto text = fmt::format("hcasim sweep {}{}", options.study,
                            options.output.empty() ? "" : fmt::format(" --output {}", options.output));
    if (options.engine == SweepOptions::Engine::slurm) {
        text += " --engine slurm";
        if (!options.partition.empty())
            text += " --partition " + options.partition;
        for (const auto& option : options.slurm_options)
            text += " --slurm-option=" + option;
    }
    return text;
}

/// Options of sbatch that are not the user's, since points would be lost by them.
std::expected<void, std::string> check_slurm_options(const SweepOptions& options) {
    constexpr std::array<std::string_view, 20> own{
        "--array", "-a", "--chdir", "-D", "--error",  "-e", "--job-name", "-J",     "--output", "-o",
        "--input", "-i", "--nodes", "-N", "--ntasks", "-n", "--requeue",  "--wrap", "--wait",   "-W"};
    if (options.engine == SweepOptions::Engine::local && !(options.partition.empty() && options.slurm_options.empty()))
        return std::unexpected(fmt::format("{} is for --engine slurm, and points run here",
                                           options.partition.empty() ? "--slurm-option" : "--partition"));
    for (const auto& option : options.slurm_options) {
        const auto name = std::string_view(option).substr(0, option.find('='));
        const bool is_short = name.starts_with('-') && !name.starts_with("--");
        if (!name.starts_with('-'))
            return std::unexpected(
                fmt::format("--slurm-option {}: is no option of sbatch: --slurm-option=--account=me", option));
        if (std::ranges::find(own, is_short ? name.substr(0, 2) : name) != own.end())
            return std::unexpected(fmt::format("--slurm-option {}: {} is the sweep's own", option, name));
    }
    return {};
}

int be_task(const std::string& directory) {
    try {
        const auto trouble = study::run_task(directory);
        return trouble.empty() ? status::good : (complain(fmt::format("hcasim: {}\n", trouble)), status::own_trouble);
    } catch (const std::runtime_error& trouble) {
        complain(fmt::format("hcasim: {}\n", trouble.what()));
        return status::own_trouble;
    }
}

/// Points that are looked at for keys without effect; a key that has one nearly always shows it in the first few.
constexpr std::size_t most_looked_at = 1000;

/// Keys of the base, of [set] and of axes that change nothing in any of the first points, as far as their values are
/// not the defaults: an axis of such a key gives as many equal results as it has values.
std::vector<platform::topology::IdleKey> idle_keys(const study::ReadStudy& read) {
    using namespace platform::topology;
    const auto& study = read.study;
    std::vector<IdleKey> left;
    for (const auto& key : read.base.given)
        if (study.axis(key.path) == nullptr && std::ranges::find(left, key.path, &IdleKey::path) == left.end())
            left.push_back({key.path, key.where == "--set" ? study.file : key.where, {}});
    for (const auto& axis : study.axes)
        left.push_back({axis.key, axis.where, {}});
    static const Config defaults;
    const auto points = study::next_batch(study, {}).points;
    const auto step = points.size() / most_looked_at + 1;
    for (std::size_t i = 0; i < points.size() && !left.empty(); i += step) {
        std::vector<std::string> overrides;
        for (const auto& [key, value] : study::all_settings(study, points[i]))
            overrides.push_back(fmt::format("{}={}", key, value));
        const auto config = read_config(study.base, overrides);
        if (!config)
            continue; // the point fails, and says why
        const auto idle = platform::topology::idle_keys(*config);
        std::erase_if(left, [&](IdleKey& one) {
            const auto* key = find_key(one.path);
            if (key == nullptr)
                return true; // of one part, by name
            if (key->get(*config) == key->get(defaults))
                return false;
            const auto found = std::ranges::find(idle, one.path, &IdleKey::path);
            if (found == idle.end())
                return true;
            one.why = found->why;
            return false;
        });
    }
    std::erase_if(left, [](const IdleKey& one) { return one.why.empty(); }); // which has its default everywhere
    return left;
}

std::string spool_of(const std::string& path) { return std::filesystem::absolute(path).string() + ".spool"; }

using Engine = std::unique_ptr<study::Engine>;

std::expected<Engine, std::string> make_engine(const SweepOptions& options, const study::Study& study,
                                               study::Store& store, const std::string& path, Console& console) {
    if (options.engine == SweepOptions::Engine::local) {
        for (const auto& job : study::forget_arrays(store, spool_of(path)))
            console.say(
                fmt::format("job {} of Slurm was working for {}: what it has not done is run here\n", job, path));
        const auto jobs = options.jobs != 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
        return std::make_unique<study::LocalEngine>(jobs, study.timeout_s);
    }
    auto slurm = study::Slurm::find();
    if (!slurm)
        return std::unexpected(slurm.error());
    study::SlurmSetup setup{.spool = spool_of(path),
                            .program = program_itself,
                            .version = std::string(version()),
                            .revision = std::string(revision()),
                            .inputs = {study.base},
                            .timeout_s = study.timeout_s,
                            .at_a_time = options.jobs,
                            .options = options.slurm_options,
                            .say = [&console](const std::string& line) { console.say(printable(line) + "\n"); }};
    if (!study.payload.empty())
        setup.inputs.push_back(study.payload);
    if (!options.partition.empty())
        setup.options.insert(setup.options.begin(), "--partition=" + options.partition);
    return std::make_unique<study::SlurmEngine>(study, store, std::move(*slurm), std::move(setup));
}

int sweep_into(study::Store& store, const study::ReadStudy& read, const SweepOptions& options,
               const std::string& path) {
    const auto& study = read.study;
    Console console(stdout, Console::Speech::all);
    console.say(print_idle(idle_keys(read)));
    const auto engine = make_engine(options, study, store, path, console);
    if (!engine)
        return refuse(engine.error());
    if (options.retries)
        if (const auto count = store.forget_failures(); count != 0)
            console.say(fmt::format("{} points that had failed are run again\n", count));
    if (const auto there = store.points(); there != 0)
        console.say(fmt::format("{} has {} points; going on\n", path, there));
    scenario::Stop stop;
    Interrupt interrupt(stop);
    const auto began = std::chrono::steady_clock::now();
    const auto is_over_time = [&] {
        const std::chrono::duration<double, std::ratio<60>> spent = std::chrono::steady_clock::now() - began;
        return study.stop.minutes > 0 && spent.count() > study.stop.minutes;
    };
    const auto end =
        study::run(study, store,
                   {.program = program_itself,
                    .engine = **engine,
                    .goes_on =
                        [&] {
                            interrupt.look();
                            return !stop.is_requested() && !is_over_time();
                        },
                    .told =
                        [&](const study::Outcome& outcome, const study::Progress& progress) {
                            if (outcome.status != study::Status::done)
                                console.say(fmt::format("point {} ({}) {}: {}\n", outcome.point.number,
                                                        printable(print(outcome.point.settings)),
                                                        to_string(outcome.status), printable(outcome.reason)));
                            console.progress(print_progress(progress), progress.done == progress.planned);
                        }});
    if (end.empty()) {
        complain(fmt::format("hcasim: {} after {} points; `{}` goes on\n",
                             interrupt.number() != 0 ? "stopped" : "the minutes of [stop] are over", store.points(),
                             printable(again(options))));
        return interrupt.number() != 0 ? status::signalled(interrupt.number()) : status::failed;
    }
    const auto outcomes = store.all();
    console.say(fmt::format("{}\n\n{}\n{} in {}; `hcasim report {}` makes a page of them\n", end,
                            study::print_answer(study::answer(study, outcomes), console.width()),
                            study::print_points(outcomes.size()), path, path));
    if (!console.is_good())
        return status::output_lost;
    return std::ranges::all_of(outcomes, [](const auto& one) { return one.status == study::Status::done; })
               ? status::good
               : status::failed;
}

} // namespace

int sweep(const SweepOptions& options) {
    if (options.only_digest && !options.output.empty())
        return refuse(fmt::format("--output {}: --digest writes nothing, and takes the results in the place of the "
                                  "study: hcasim sweep --digest {}",
                                  options.output, options.output));
    if (options.only_digest)
        return print_digest(options.study);
    if (options.is_task)
        return be_task(options.study);
    if (const auto checked = check_slurm_options(options); !checked)
        return refuse(checked.error());
    const auto read = study::read_study(options.study);
    if (!read)
        return refuse(read.error());
    if (const auto values = check_values(*read); !values)
        return refuse(values.error());
    const auto& study = read->study;
    if (options.only_checks) {
        Console console(stdout, Console::Speech::all);
        console.say(fmt::format("{}{}: can run, {} points to begin with\n", print_idle(idle_keys(*read)),
                                printable(options.study), study::next_batch(study, {}).points.size()));
        return console.is_good() ? status::good : status::output_lost;
    }
    const auto path =
        options.output.empty() ? std::filesystem::path(options.study).stem().string() + ".sqlite" : options.output;
    const auto platform = platform::topology::print_toml(read->base);
    std::string identity;
    for (const auto& line : study::identity(study, platform))
        identity += line + "\n";
    auto store = study::Store::open(path, {.file = options.study,
                                           .text = study.text,
                                           .platform = platform,
                                           .identity = identity,
                                           .version = std::string(version()),
                                           .revision = std::string(revision())});
    if (!store)
        return refuse(store.error());
    try {
        return sweep_into(*store, *read, options, path);
    } catch (const study::SubmissionRefused& why) {
        return refuse(fmt::format("sbatch does not take the points: {}", why.what()));
    } catch (const std::runtime_error& trouble) {
        complain(fmt::format("hcasim: {}: {}\n", path, trouble.what()));
        return status::output_lost;
    }
}

} // namespace hcasim

#include "testbench/hcasim/run.h"

#include "platform/observe/count/counters.h"
#include "platform/observe/count/digests.h"
#include "platform/observe/count/queues.h"
#include "platform/observe/life/life.h"
#include "platform/ranks/exchange.h"
#include "platform/ranks/mpi/mpi_exchange.h"
#include "platform/topology/addresses.h"
#include "platform/topology/description.h"
#include "platform/topology/effect.h"
#include "platform/topology/keys.h"
#include "platform/topology/read.h"
#include "testbench/hcasim/files.h"
#include "testbench/hcasim/interrupt.h"
#include "testbench/hcasim/observers.h"
#include "testbench/hcasim/payload.h"
#include "testbench/hcasim/ranks.h"
#include "testbench/hcasim/record.h"
#include "testbench/hcasim/report.h"
#include "testbench/hcasim/result_json.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/program/units.h"
#include "testbench/program/version.h"
#include "testbench/study/read_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

namespace hcasim {
namespace {

using platform::observe::files::Output;
using platform::topology::Config;

/// Rows in the JSON, of each card and kind; a person is shown fewer.
constexpr std::size_t queue_rows = 64;

/// What a run needs of its configuration, found before anything is opened for writing.
struct Plan {
    Config config;
    const scenario::Scenario* scenario;
    std::optional<Payload> payload; ///< of a scenario that moves one
};

std::expected<Config, std::string> read_config(const PlanOptions& options) {
    auto config = platform::topology::read_config(options.config, options.overrides);
    // Of whose keys it knows none.
    if (!config && study::is_study(options.config))
        return std::unexpected(fmt::format("{}: is a study, and no configuration; `hcasim sweep {}` runs it",
                                           options.config, options.config));
    return config;
}

/// Whether nobody has asked for the scenario, and the platform can carry it with no payload whatever: such a file is
/// meant for something else, and a key of the scenario that it does not have is not what is wrong with it.
bool is_meant_otherwise(const Config& config, const scenario::Scenario& chosen) {
    return chosen.fits != nullptr && !chosen.fits(config, 1) &&
           std::ranges::none_of(config.given, [](const auto& key) { return key.path.starts_with("scenario."); });
}

std::expected<Plan, std::string> plan(const PlanOptions& options, std::span<const scenario::Scenario> all) {
    auto config = read_config(options);
    if (!config)
        return std::unexpected(config.error());
    const auto platform = platform::topology::describe(*config).value(); // which read_config has tried
    if (const auto faults = platform::topology::without_addresses(platform); !faults.empty())
        return std::unexpected(fmt::format("{}: {}", faults.front().where.empty() ? config->file : faults.front().where,
                                           faults.front().text));
    const auto chosen = std::ranges::find(all, config->scenario.name, &scenario::Scenario::name);
    if (chosen == all.end()) {
        std::string names;
        for (const auto& one : all)
            names += fmt::format("{}{}", names.empty() ? "" : " ", one.name);
        return std::unexpected(
            fmt::format("{}: unknown scenario '{}', there are: {}", config->file, config->scenario.name, names));
    }
    const auto named = options.payload.value_or(config->scenario.payload);
    Plan made{std::move(*config), &*chosen, {}};
    if (!chosen->moves_payload) {
        if (!named.empty())
            return std::unexpected(fmt::format(
                "payload {}: scenario '{}' moves bytes of its own; leave --payload and scenario.payload out", named,
                chosen->name));
    } else if (auto opened = Payload::open(named)) {
        made.payload.emplace(std::move(*opened));
    } else {
        return std::unexpected(opened.error());
    }
    if (const auto fit = scenario::look_at(*chosen, made.config, made.payload ? made.payload->size() : 0); !fit) {
        if (is_meant_otherwise(made.config, *chosen))
            return std::unexpected(fmt::format(
                "{}: names no scenario, and the default, '{}', cannot run on it: {}. Set scenario.name (`hcasim run "
                "--help` lists them), or serve its devices to drivers elsewhere: hcasim serve {} --socket-dir DIR",
                made.config.file, chosen->name, fit.error(), made.config.file));
        return std::unexpected(fit.error());
    }
    return made;
}

int lose(std::string_view why) {
    refuse(why);
    return status::output_lost;
}

std::vector<NamedFile> files_of(const RunOptions& options, const Plan& plan) {
    auto files = files_of(options.observe, options.plan.config);
    if (plan.payload) {
        const auto named = options.plan.payload.value_or(plan.config.scenario.payload);
        files.push_back({.what = named.empty() ? "this program" : "the payload",
                         .path = named.empty() ? program_itself : named,
                         .use = NamedFile::Use::input});
    }
    files.push_back(file_of(options.record));
    files.push_back({.what = "--json", .path = options.json, .use = NamedFile::Use::output});
    return files;
}

/// Whether standard output has a result, and a person's words go elsewhere.
bool is_taken(const RunOptions& options) {
    return std::ranges::any_of(
        std::array{options.json, options.observe.events, options.observe.pcap},
        [](const auto& path) { return !path.empty() && platform::observe::files::is_standard_output(path); });
}

int run_here(const RunOptions& options, std::span<const scenario::Scenario> scenarios,
             platform::ranks::Exchange* exchange) {
    const auto turn_down = [&](const std::string& why) {
        return exchange == nullptr || exchange->rank() == 0 ? refuse(why) : status::refused;
    };
    Readiness readiness(exchange);
    const auto planned = plan(options.plan, scenarios);
    if (!planned)
        return turn_down(planned.error());
    const auto& [config, chosen, payload] = *planned;
    if (const auto spread = may_be_spread(options, *chosen, exchange != nullptr ? exchange->ranks() : 1); !spread)
        return turn_down(spread.error());
    if (const auto apart = are_apart(files_of(options, *planned)); !apart)
        return turn_down(apart.error());

    scenario::Stop stop;
    Interrupt interrupt(stop, Interrupt::Patience::a_second);
    std::string lost; // the first output that could not be written
    const auto lose_output = [&](const std::string& why) {
        lost = lost.empty() ? why : lost;
        stop.request(why);
    };
    const auto observers =
        Observers::create(options.observe, {.appears = Output::Appears::finished, .on_failure = lose_output});
    if (!observers)
        return refuse(observers.error());
    auto& observed = **observers;
    const auto recording = make_recording(options.record, config);
    if (!recording)
        return refuse(recording.error());
    if (auto* recorded = recording->get()) {
        if (options.record.failure == RecordFailure::stop)
            recorded->on_failure(lose_output);
        if (auto* events = recorded->events())
            observed.add(*events);
    }
    platform::observe::count::Digests digests;
    if (exchange != nullptr)
        digests.leave_out_marks();
    platform::observe::count::Counters counters;
    platform::observe::life::Life life;
    platform::observe::count::Queues queues(observed.sources());
    for (auto* sink : std::initializer_list<traces::Sink*>{&digests, &counters, &life, &queues, &interrupt})
        observed.add(*sink);
    std::optional<Output> json;
    if (!options.json.empty()) {
        auto created = Output::create(options.json);
        if (!created)
            return refuse(created.error());
        json.emplace(std::move(*created));
        json->on_failure(lose_output);
    }

    Console console(is_taken(options) ? stderr : stdout,
                    options.is_quiet ? Console::Speech::nothing : Console::Speech::all);
    console.on_failure(lose_output);
    const auto idle = platform::topology::idle_keys(config);
    console.say(fmt::format(
        "{}: {}\n\n{}\n{}{}", config.scenario.name, chosen->summary, print_topology(config), print_idle(idle),
        payload ? fmt::format("moving {}, {}\n", printable(payload->name()), print_bytes(payload->size())) : ""));
    if (!lost.empty())
        return lose(lost);
    if (!readiness.are_all_ready())
        return status::refused;

    const auto source = payload ? payload->source() : scenario::PayloadSource{};
    const auto progress = [&](std::string_view what, std::uint64_t done, std::uint64_t total) {
        console.progress(what, done, total);
        interrupt.look();
    };
    auto result = chosen->run({config, source, observed.sources(), observed.sink(), observed.capture(),
                               recording->get(), &stop, exchange, progress});
    if (!result)
        return turn_down(result.error());
    result->queues = queues.report(queue_rows);
    if (exchange != nullptr)
        gather(*exchange, observed.sources(), {.digests = digests, .counters = counters, .queues = result->queues});
    result->event_digest = digests.all().text();
    const Look look{.width = console.width(), .has_colour = console.has_colour()};
    // It leads through several hosts, of which a process has some.
    const auto first_write = exchange == nullptr ? fmt::format("\nthe life of the first WRITE\n{}",
                                                               print_life(life, observed.sources(), look))
                                                 : std::string();
    console.say(fmt::format("{}\n{}", first_write, print_result(*result, look)));
    if (options.is_quiet && !result->verified && (exchange == nullptr || exchange->rank() == 0))
        complain(fmt::format("hcasim: NOT VERIFIED: {}\n", result->failure));

    if (const auto closed = observed.close(); !closed && lost.empty())
        lost = closed.error();
    if (*recording)
        if (const auto closed = (*recording)->close(); !closed)
            lost = closed.error(); // which says more than what was told when it began
    if (json) {
        json->write(print_json({.result = *result,
                                .counters = counters,
                                .digests = digests,
                                .sources = observed.sources(),
                                .config = config,
                                .idle = idle,
                                .payload = payload ? payload->name() : ""}));
        (void)json->finish();
    }
    if (!lost.empty())
        return lose(lost);
    if (interrupt.number() != 0) {
        if (exchange == nullptr || exchange->rank() == 0)
            complain(fmt::format("hcasim: {}\n", result->stopped));
        return status::signalled(interrupt.number());
    }
    return result->verified ? status::good : status::failed;
}

} // namespace

std::string print_idle(std::span<const platform::topology::IdleKey> idle) {
    std::string text;
    for (const auto& key : idle)
        text += fmt::format("note: {}: '{}' has no effect: {}\n", key.where, key.path, key.why);
    return text.empty() ? text : text + "\n";
}

int run(const RunOptions& options, std::span<const scenario::Scenario> scenarios) {
    const auto processes = count_processes(options);
    if (!processes)
        return platform::ranks::mpi::launched_rank() == 0 ? refuse(processes.error()) : status::refused;
    if (are_to_be_started(*processes)) {
        // What is refused, is refused once, and before anything is started.
        const auto planned = plan(options.plan, scenarios);
        if (!planned)
            return refuse(planned.error());
        if (const auto spread = may_be_spread(options, *planned->scenario, *processes); !spread)
            return refuse(spread.error());
        return start(options, *processes);
    }
    if (*processes == 1)
        return run_here(options, scenarios, nullptr);
    const auto exchange = platform::ranks::mpi::join();
    if (!exchange)
        return refuse(exchange.error());
    if ((*exchange)->rank() == 0)
        return run_here(options, scenarios, exchange->get());
    auto silent = options; // process 0 speaks for all
    silent.json.clear();
    silent.is_quiet = true;
    return run_here(silent, scenarios, exchange->get());
}

int check(const PlanOptions& options, std::span<const scenario::Scenario> scenarios) {
    const auto planned = plan(options, scenarios);
    if (!planned)
        return refuse(planned.error());
    Console console(stdout, Console::Speech::all);
    console.say(fmt::format("{}{}: can run '{}'\n", print_idle(platform::topology::idle_keys(planned->config)),
                            printable(options.config), planned->scenario->name));
    return console.is_good() ? status::good : status::output_lost;
}

std::expected<void, std::string> may_begin(const PlanOptions& options, std::span<const scenario::Scenario> scenarios) {
    if (const auto planned = plan(options, scenarios); !planned)
        return std::unexpected(planned.error());
    return {};
}

int print_config(const PlanOptions& options) {
    const auto config = read_config(options);
    if (!config)
        return refuse(config.error());
    Console console(stdout, Console::Speech::all);
    console.say(platform::topology::print_toml(*config));
    return console.is_good() ? status::good : status::output_lost;
}

} // namespace hcasim

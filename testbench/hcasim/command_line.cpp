#include "testbench/hcasim/command_line.h"

#include "platform/topology/keys.h"
#include "testbench/hcasim/calibrate_options.h"
#include "testbench/hcasim/choice.h"
#include "testbench/hcasim/record.h"
#include "testbench/hcasim/replay_options.h"
#include "testbench/program/version.h"
#include "testbench/scenario/registry.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace hcasim {
namespace {

std::string list_of_scenarios() {
    std::string text = "\nScenarios ([scenario] name):\n";
    for (const auto& scenario : scenario::scenarios())
        text += fmt::format("  {:<30} {}\n", scenario.name, scenario.summary);
    return text;
}

/// What stands below the options of a command that reads a configuration.
constexpr const char* about_keys = R"(
A configuration is a TOML file; platform/configs has some. --set link.loss=0.01 sets the same key as
  [link]
  loss = 0.01
Every key may be left out. `hcasim keys` lists all with range and default, `hcasim run CONFIG --print-config`
prints the values of a configuration, `hcasim check CONFIG` says everything that is wrong with it.
--set A.hca0.mtt_cache_entries=64 sets a key of one part, `hcasim show CONFIG` draws which parts there are.
Sizes are bytes or "2 GiB", times are nanoseconds or "2 us". The first ones to know:
  timed                          false: purely functional, nothing costs simulated time
  scenario.name, .message, .qps  the workload, bytes a work request moves, queue pairs
  scenario.from, .to, .through   the GPUs of the workload and an HCA on its way, by name: A.gpu0, A.hca0
  link.encapsulation             roce_v2, roce_v2_ipv6 or infiniband
  link.loss, .reorder, .corrupt  what happens to packets, with probabilities
)";

constexpr const char* about_status =
    "\nExit status: 0 verified, 1 ran and is not verified, 2 refused before it ran, 3 something could not be written,\n"
    "130 interrupted (SIGINT), 143 terminated (SIGTERM): then the report is what there was until then.\n";

void add_overrides(CLI::App& command, std::vector<std::string>& overrides) {
    command.add_option("--set", overrides, "Override a key of the configuration; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->take_all();
}

CLI::Option* add_plan(CLI::App& command, PlanOptions& options, std::string& payload) {
    command.add_option("config", options.config, "The platform and its workload, a TOML file")
        ->required()
        ->type_name("CONFIG.toml");
    auto* given =
        command.add_option("--payload", payload, "The file to move; default: scenario.payload")->type_name("FILE");
    add_overrides(command, options.overrides);
    return given;
}

void add_observers(CLI::App& command, ObserverOptions& options) {
    command
        .add_option("--events", options.events,
                    "Write every event as a line: JSON where FILE ends in .json or .jsonl, or is - (standard output), "
                    "else text")
        ->type_name("FILE");
    command.add_option("--pcap", options.pcap, "Write the frames of the cable as pcapng, in the order of their time")
        ->type_name("FILE");
    // A flag, so that --explain does not take the next word, which may be the configuration.
    command.add_flag(
        "--explain{-}", options.explain,
        "Explain each refused command, violation, error completion and queue pair in error in a paragraph: object, "
        "decoded input, rule, chapter, likely cause; on standard error, or with --explain=FILE into FILE");
}

/// Of an explorer's row; more than any transfer has.
constexpr std::uint64_t most_points = std::uint64_t{1} << 32;

void add_explore(CLI::App& explore, ExploreOptions& options) {
    explore.footer(
        "\nThe points are the events between a request and its completion. Each run is a process; after it every byte "
        "is\naccounted for: no byte beside the buffer is written, none in it once the action has returned, and the "
        "completion is\none that the specification has.\nNo DMA goes by a stale mapping, whatever its bytes (off with "
        "--set observe.ownership=false).\n\n"
        "Latency and rate of the link, cable or switch, and remapping units are swept: each --set that names one of "
        "their keys\n(link.latency_ns, link.rate_gbps, fabric.switch, link.encapsulation, iommu.present) holds it. "
        "With "
        "--set host.acs=redirect\nthe way between devices leads through the units, too; --set "
        "hca.device_tlb_entries=64 --set iommu.device_tlb=true gives\nthe HCAs TLBs of their own. scenario.qps is the "
        "number of transfers by one key. Of a drive its read latency is swept\n(A.nvme0.read_latency_ns), of a GPU its "
        "profile and the time of an invalidation (A.gpu0.profile, A.gpu0.invalidate_ns).\n\n"
        "gpu_nvme, gpu_rdma (gpu: both) are programs of a GPU: each of their fences and flushes is left out (--inject "
        "names some),\nunder --points seeds of each world: GPU as observed, coherent, or the worst that documents "
        "allow; stores of a thread in\ntheir order, or reordered; reads that pass GL0 and GL1, or plain ones. "
        "--set A.gpu0.profile=N holds a profile.\n\n"
        "Exit status: 0 no violation, 1 some, 2 refused, 3 the recording could not be written, 4 no violation, but in "
        "some row\nand variant the action never met a transfer under way, or a fence never what it is against.\n");
    explore
        .add_option(
            "scenario", options.operations,
            "Of an HCA: write, read, send, atomic or rdma; of a drive: nvme_read, nvme_write or nvme; of pages of a "
            "GPU: "
            "gpu_load, gpu_store (waves), gpu_copy_in, gpu_copy_out (a copy engine) or gpu_pages; of a drive's BAR in "
            "a "
            "GPU's address space: gpu_doorbell or gpu_bar; all of these; programs of a GPU: gpu_nvme, gpu_rdma or gpu")
        ->required()
        ->delimiter(',');
    explore
        .add_option(
            "--inject", options.actions,
            "revoke, move, unmap, flr, release (host memory, under a live key), migrate (registered on "
            "demand), death (of the peer), two at once as in revoke+death, or all (default); of a drive: release, "
            "revoke, delete_queue, reset, flr; of pages of a GPU: unmap, move; of a BAR: revoke, disable (memory space "
            "of the function), flr; of a program of a GPU: what is left out")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->take_all();
    explore
        .add_option(
            "--victim", options.victims,
            "Whose memory: requester, responder or all (default); of a drive, and of pages of a GPU: host, vram or "
            "all")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->take_all();
    constexpr std::array sweeps{std::pair{std::string_view("all"), Sweep::all},
                                std::pair{std::string_view("pairs"), Sweep::pairs},
                                std::pair{std::string_view("none"), Sweep::none}};
    add_choice(explore, "--sweep", options.sweep, sweeps,
               "all combinations (default), pairs (as few as have each two settings together), or none");
    explore
        .add_option("--importers", options.importers,
                    "Registrations of the same memory (default: one, in some variants two)")
        ->check(CLI::Range(1u, 16u));
    explore.add_option("--bytes", options.bytes, "Of the message (default 20000)")->check(CLI::Range(1u, 4u << 20));
    explore.add_option("--points", options.points, "Of each row and variant (default 12)")
        ->check(CLI::Range(std::uint64_t{1}, most_points));
    explore.add_option("--every", options.every, "Each so-many-th point instead")
        ->check(CLI::Range(std::uint64_t{1}, most_points));
    explore.add_option("--at", options.at, "Only this point");
    explore.add_flag("--late", options.is_late,
                     "With --at or --every: at the time that the event has, where a device knows of it before");
    explore.add_option("--jobs", options.jobs, "Processes at a time; default: one a processor")
        ->check(CLI::Range(1u, most_jobs));
    explore.add_option(
        "--plant", options.plant,
        "A mistake on purpose, to see it found: stale_key (a revocation does not reach the card), missing_invalidation "
        "(the remapping unit is not told that a mapping went), umr_drain, command_drain, reset_drain "
        "(packets under way keep referring to memory that goes by a work request, a command, a reset); of a drive: "
        "missing_invalidation, missing_drain (data under way still land when their queue has gone); of pages of a GPU, "
        "and of a BAR, a step that its driver leaves out: stale_entry (of the page table), missing_host_flush (what it "
        "has written rests in the host data path), missing_invalidation, unawaited_invalidation, missing_rinse (of "
        "GL2, and of stores on their way)");
    explore.add_flag(
        "--alike", options.has_alike_owner,
        "The memory's next owner has the bytes there that the transfer has: what still goes there is seen by "
        "its stale mapping only");
    explore.add_flag("--monitor", options.is_monitored,
                     "Hold each run against the rules of `hcasim trace check`; devices are lent no memory then");
    explore
        .add_option("--record", options.record,
                    "Run the first run that has a violation again, and record all its devices and events. Devices that "
                    "are recorded are lent no memory: a mistake about that may not show then, which is said")
        ->type_name("FILE");
    add_overrides(explore, options.overrides);
}

std::string names_of(const std::vector<CLI::App*>& commands) {
    std::string names;
    for (std::size_t i = 0; i < commands.size(); ++i)
        names += fmt::format("{}{}", i == 0 ? "" : i + 1 == commands.size() ? " or " : ", ", commands[i]->get_name());
    return names;
}

/// The command that was given, to its last word: "trace show".
std::pair<const CLI::App*, std::string> given_command(const CLI::App& app) {
    const CLI::App* command = &app;
    std::string name;
    for (auto next = app.get_subcommands(); !next.empty(); next = command->get_subcommands()) {
        command = next.front();
        name += command->get_name() + " ";
    }
    return {command, name};
}

/// An option that has taken another one for its value, as --json in `--json -q`: the parser gives an option that wants
/// a value the next word, whatever it is. Empty: there is none.
std::string find_swallowed(const CLI::App& command) {
    for (const auto* option : command.get_options())
        if (option->get_items_expected_min() != 0 && !option->get_positional())
            for (const auto& value : option->results())
                if (value.starts_with('-') && command.get_option_no_throw(value) != nullptr)
                    return fmt::format("{}: its value is missing before {}", option->get_name(), value);
    return {};
}

/// A second word behind --set, as in `--set a=1 b=2`, which is taken for something else. Empty: there is none.
std::string find_second_setting(std::span<const char* const> words) {
    for (std::size_t i = 2; i < words.size(); ++i) {
        const std::string_view word(words[i]);
        if (std::string_view(words[i - 2]) == "--set" && !word.starts_with('-') && word.contains('='))
            return std::string(word);
    }
    return {};
}

} // namespace

Command parse_command_line(int argc, const char* const* argv) {
    CLI::App app("hcasim: a functional simulator of an RDMA HCA and the PCIe neighbourhood it lives in", "hcasim");
    app.set_version_flag("--version", fmt::format("hcasim {} ({})", version(), revision()));
    app.require_subcommand(0, 1);
    app.footer(
        list_of_scenarios() +
        "\n`hcasim COMMAND --help` lists the options of a command, `hcasim keys` every key of a configuration.\n");

    RunOptions options;
    std::string payload;
    auto* run = app.add_subcommand("run", "Run the scenario of a configuration");
    run->footer(list_of_scenarios() + about_keys + about_status);
    const auto* run_payload = add_plan(*run, options.plan, payload);
    run->add_option("--json", options.json,
                    "Write the result as one JSON object; - is standard output, the report goes to standard error")
        ->type_name("FILE");
    add_observers(*run, options.observe);
    add_record(*run, options.record);
    run->add_flag("--quiet,-q", options.is_quiet,
                  "No report: the exit status, and a line on standard error where that is not 0");
    options.arguments.assign(argv + 1, argv + argc);
    unsigned ranks = 1;
    const auto* run_ranks =
        run->add_option("--ranks", ranks,
                        "Spread the hosts over so many processes, which mpirun starts; results are those of one")
            ->type_name("COUNT")
            ->check(CLI::Range(1, 4096));
    bool prints_config = false;
    run->add_flag("--print-config", prints_config,
                  "Print the configuration with every key as a configuration, and run nothing");

    ServeOptions serving;
    auto* serve = app.add_subcommand("serve", "Serve the cards of a platform to drivers elsewhere, by vfio-user");
    serve->footer(
        "\nEach function of a machine has a socket, DIR/hostA.hca.sock, ... of the pair, and DIR/A.hca0.sock, ... of "
        "[[hosts]]; what QEMU needs to attach to it is "
        "printed. Of several hosts these are the ones with served = true, or all.\nRuns until it is interrupted; on "
        "SIGUSR1 it prints what each HCA holds for its driver.\n\n"
        "Exit status: 0 it was ended by a signal (SIGINT, SIGTERM, SIGHUP or SIGPIPE), which is how it ends, 2 refused "
        "before it\nserved, 3 something could not be written.\n");
    serve->add_option("config", serving.config, "The platform, a TOML file")->required()->type_name("PLATFORM.toml");
    serve->add_option("--socket-dir", serving.socket_directory, "Where the sockets are created")
        ->required()
        ->type_name("DIR");
    add_overrides(*serve, serving.overrides);
    serve->add_flag("--commands", serving.commands, "Print each command of a driver as a line");
    serve->add_flag("--polled-doorbells", serving.polled_doorbells,
                    "Find doorbells of programs in memory instead of trapping each (hca.polled_doorbells): small "
                    "messages are faster, and a processor is busier");
    add_observers(*serve, serving.observe);
    add_record(*serve, serving.record);

    ExploreOptions exploring;
    auto* explore =
        app.add_subcommand("explore", "Run a transfer again and again with something in its way, at points of it");
    add_explore(*explore, exploring);

    CompareOptions comparing;
    const auto* compare = add_compare(app, comparing);

    ReplayOptions replaying;
    auto* replay = app.add_subcommand("replay", "Play recordings on their devices alone, and show what is different");
    add_replay(*replay, replaying);

    CalibrateOptions calibrating;
    auto* calibrate =
        app.add_subcommand("calibrate", "Hold the model of a card against what silicon has been measured to do");
    add_calibrate(*calibrate, calibrating);
    add_overrides(*calibrate, calibrating.overrides);

    SweepOptions sweeping;
    const auto* sweep = add_sweep(app, sweeping);

    StudyReportOptions reporting;
    const auto* report = add_study_report(app, reporting);

    CheckOptions checking;
    auto* check = app.add_subcommand("check", "Say what is wrong with a configuration, and run nothing");
    check->footer("\nExit status: 0 it can run, 2 it cannot, 3 that could not be written.\n");
    const auto* check_payload = add_plan(*check, checking.plan, payload);

    ShowOptions showing;
    auto* show = app.add_subcommand("show", "Draw the platform of a configuration, and run nothing");
    show->footer(
        "\nThe tree of each host with its links, and the fabric with its cables. Hosts that are alike are drawn "
        "once in text,\neach in the picture.\n");
    show->add_option("config", showing.config, "The platform, a TOML file")->required()->type_name("CONFIG.toml");
    show->add_option("--svg", showing.svg, "Write a picture as SVG; - is standard output, without the text")
        ->type_name("FILE");
    add_overrides(*show, showing.overrides);

    TraceJob tracing;
    auto* trace = add_trace(app, tracing);

    bool lists_as_json = false;
    auto* keys = app.add_subcommand("keys", "List every key of a configuration with range and default");
    keys->add_flag("--json", lists_as_json, "As one JSON object");

    const std::vector<CLI::App*> commands = app.get_subcommands({});
    try {
        app.parse(argc, argv);
        const auto [command, name] = given_command(app);
        if (const auto swallowed = find_swallowed(*command); !swallowed.empty())
            return Leave{2, fmt::format("hcasim: {} (see hcasim {}--help)\n", swallowed, name)};
        if (app.get_subcommands().empty())
            return Leave{2, fmt::format("hcasim: a command is missing: {} (see hcasim --help)\n", names_of(commands))};
    } catch (const CLI::CallForHelp&) {
        for (auto* command : commands)
            if (command->parsed())
                return Leave{0, command->help("hcasim")};
        return Leave{0, app.help()};
    } catch (const CLI::CallForVersion& version) {
        return Leave{0, fmt::format("{}\n", version.what())};
    } catch (const CLI::ParseError& error) {
        const auto [command, name] = given_command(app);
        // Where an option has taken another one, it is not the word behind that one that is wrong.
        const auto swallowed = find_swallowed(*command);
        auto what = swallowed.empty() ? std::string(error.what()) : swallowed;
        if (const auto second = find_second_setting({argv, static_cast<std::size_t>(argc)}); !second.empty())
            what = fmt::format("--set takes one KEY=VALUE, repeat it: --set {}", second);
        return Leave{2, !name.empty() ? fmt::format("hcasim: {} (see hcasim {}--help)\n", what, name)
                                      : fmt::format("hcasim: {}; the commands are {} (see hcasim --help)\n",
                                                    error.what(), names_of(commands))};
    }
    if (keys->parsed())
        return Leave{0, lists_as_json ? platform::topology::keys_as_json() : platform::topology::print_keys()};
    if (serve->parsed())
        return serving;
    if (explore->parsed())
        return exploring;
    if (compare->parsed())
        return comparing;
    if (replay->parsed())
        return replaying;
    if (calibrate->parsed())
        return calibrating;
    if (sweep->parsed())
        return sweeping;
    if (report->parsed())
        return reporting;
    if (show->parsed())
        return showing;
    if (trace->parsed())
        return tracing;
    if (check->parsed()) {
        if (check_payload->count() != 0)
            checking.plan.payload = payload;
        return checking;
    }
    if (run_ranks->count() != 0)
        options.ranks = ranks;
    if (run_payload->count() != 0)
        options.plan.payload = payload;
    if (prints_config) {
        constexpr std::array others{"--payload", "--json",   "--events", "--pcap",
                                    "--explain", "--record", "--quiet",  "--ranks"};
        for (const auto* other : others)
            if (run->get_option(other)->count() != 0)
                return Leave{2, fmt::format("hcasim: {}: --print-config runs nothing, and prints to standard output; "
                                            "leave one of them out\n",
                                            other)};
        return PrintConfigOptions{options.plan};
    }
    return options;
}

} // namespace hcasim

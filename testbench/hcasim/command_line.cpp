#include "testbench/hcasim/command_line.h"

#include "platform/topology/keys.h"
#include "testbench/scenario/registry.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace hcasim {
namespace {

std::string list_of_scenarios() {
    std::string text = "Scenarios ([scenario] name):\n";
    for (const auto& scenario : scenario::scenarios())
        text += fmt::format("  {:<30} {}\n", scenario.name, scenario.summary);
    return text;
}

std::string explanation() {
    return list_of_scenarios() +
           "\nExit status: 0 verified, 1 ran and is not verified, 2 refused before it ran.\n"
           "\nKeys of a configuration, and of --set KEY=VALUE. Sizes are bytes or \"2 GiB\", times are nanoseconds or "
           "\"2 us\".\n" +
           platform::topology::print_keys();
}

void add_observers(CLI::App& command, ObserverOptions& options) {
    command
        .add_option("--events", options.events,
                    "Write every event as a line: JSON where FILE ends in .json or .jsonl, else text")
        ->type_name("FILE");
    command.add_option("--pcap", options.pcap, "Write the frames of the cable as pcapng")->type_name("FILE");
    // A flag, so that --explain does not take the next word, which may be the configuration.
    command.add_flag("--explain{-}", options.explain,
                     "Explain each refused command, violation, error completion and queue pair in error in a paragraph: object, "
                     "decoded input, rule, chapter, likely cause; on standard error, or with --explain=FILE into FILE");
}

} // namespace

Command parse_command_line(int argc, const char* const* argv) {
    RunOptions options;
    std::string payload;
    CLI::App app("hcasim: a functional simulator of an RDMA HCA and the PCIe neighbourhood it lives in", "hcasim");
    app.set_version_flag("--version", "hcasim " HCASIM_VERSION);
    app.require_subcommand(1);
    app.footer("\n" + explanation());

    auto* run = app.add_subcommand("run", "Run the scenario of a configuration");
    run->footer("\n" + explanation());
    run->add_option("config", options.config, "The platform and its workload, a TOML file")
        ->required()
        ->type_name("CONFIG.toml");
    auto* payload_option =
        run->add_option("--payload", payload, "The file to move; default: scenario.payload")->type_name("FILE");
    run->add_option("--set", options.overrides, "Override a key of the configuration; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->take_all();
    run->add_option("--json", options.json, "Write the result as one JSON object")->type_name("FILE");
    add_observers(*run, options.observe);

    ServeOptions serving;
    auto* serve = app.add_subcommand("serve", "Serve the cards of a platform to drivers elsewhere, by vfio-user");
    serve->footer("\nEach function of a machine has a socket, DIR/hostA.hca.sock, ...; what QEMU needs to attach to it is "
                  "printed.\nRuns until it is interrupted; on SIGUSR1 it prints what each HCA holds for its driver.\n");
    serve->add_option("config", serving.config, "The platform, a TOML file")->required()->type_name("PLATFORM.toml");
    serve->add_option("--socket-dir", serving.socket_directory, "Where the sockets are created")
        ->required()
        ->type_name("DIR");
    serve->add_option("--set", serving.overrides, "Override a key of the configuration; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->take_all();
    serve->add_flag("--commands", serving.commands, "Print each command of a driver as a line");
    add_observers(*serve, serving.observe);

    ExploreOptions exploring;
    auto* explore = app.add_subcommand("explore", "Run a transfer again and again with something in its way, at each point there is");
    explore->footer("\nThe points are the events between a request and its completion. Each run is a process; after it every byte is "
                    "accounted for:\nno byte beside the buffer is written, none in it once the action has returned, and the completion is "
                    "one that the specification has.\nNo DMA goes by a stale mapping, whatever its bytes (off with --set observe.ownership=false).\n"
                    "With --set iommu.present=true the cards are behind remapping units, with --set host.acs=redirect the way between\n"
                    "devices, too; --set hca.device_tlb_entries=64 --set iommu.device_tlb=true gives the HCAs TLBs of their own.\nExit status: 0 no violation, 1 some, 2 refused.\n");
    explore->add_option("scenario", exploring.operations, "write, read, send, atomic or all")->required()->delimiter(',');
    explore->add_option("--inject", exploring.actions, "revoke, move, unmap, flr, release (host memory, under a live key: with iommu.present), migrate (registered on demand) or all (default)")->delimiter(',')->allow_extra_args(false)->take_all();
    explore->add_option("--victim", exploring.victims, "Whose memory: requester, responder or all (default)")->delimiter(',')->allow_extra_args(false)->take_all();
    explore->add_option("--bytes", exploring.bytes, "Of the message (default 20000)")->check(CLI::Range(1u, 4u << 20));
    explore->add_option("--every", exploring.every, "Only each so-many-th point")->check(CLI::PositiveNumber);
    explore->add_option("--at", exploring.at, "Only this point");
    explore->add_option("--jobs", exploring.jobs, "Processes at a time; default: one a processor");
    explore->add_option("--plant", exploring.plant, "A mistake on purpose, to see it found: stale_key (a revocation does not reach the card), missing_invalidation "
                        "(the remapping unit is not told that a mapping went)");
    explore->add_flag("--alike", exploring.has_alike_owner, "The memory's next owner has the bytes there that the transfer has: what still goes there is seen by "
                      "its stale mapping only");
    explore->add_option("--set", exploring.overrides, "Override a key of the configuration; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->take_all();

    auto* keys = app.add_subcommand("keys", "List every key of a configuration with range and default");

    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        for (auto* command : {run, serve, explore, keys})
            if (command->parsed())
                return Leave{0, command->help("hcasim")};
        return Leave{0, app.help()};
    } catch (const CLI::CallForVersion& version) {
        return Leave{0, fmt::format("{}\n", version.what())};
    } catch (const CLI::ParseError& error) {
        return Leave{2, fmt::format("hcasim: {} (see hcasim --help)\n", error.what())};
    }
    if (keys->parsed())
        return Leave{0, platform::topology::print_keys()};
    if (serve->parsed())
        return serving;
    if (explore->parsed())
        return exploring;
    if (payload_option->count() != 0)
        options.payload = payload;
    return options;
}

} // namespace hcasim

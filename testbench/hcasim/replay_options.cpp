#include "testbench/hcasim/replay_options.h"

#include "testbench/hcasim/choice.h"

#include <CLI/CLI.hpp>

namespace hcasim {

void add_replay(CLI::App& replay, ReplayOptions& options) {
    replay.footer(
        "\nEach recorded device is played alone: no driver, no other device, no cable. What was done to it is done "
        "again, its DMA reads\nare answered by the recording, and what it does is compared. The first difference is "
        "shown with what led to it.\n--set changes the recorded configuration; one that changes nothing in the devices "
        "played (a cable, another host) is refused.\nA recording of another revision is refused until --set says what "
        "each key is to be that one of the two does\nnot know; --set KEY= lets a key go that is no more.\n\n"
        "Exit status: 0 the same, 1 it diverges, 2 refused before it was played, 3 something could not be written, or\n"
        "a process that played has died, 5 the recording cannot be read, or not to its end, and is the same as far as\n"
        "it goes.\n");
    replay.add_option("traces", options.traces, "The recordings, as --record has written them")
        ->required()
        ->type_name("TRACE...");
    auto* modes = replay.add_option_group("What is compared");
    modes->add_flag_callback(
        "--strict", [&options] { options.mode = ReplayMode::strict; }, "Bytes, order and simulated time (default)");
    modes->add_flag_callback("--untimed", [&options] { options.mode = ReplayMode::untimed; }, "Bytes and order");
    modes->add_flag_callback(
        "--functional", [&options] { options.mode = ReplayMode::functional; },
        "What a driver and a peer can see, whatever its timing and its splitting");
    modes->require_option(0, 1);
    replay.add_option("--set", options.overrides, "Override a key of the recorded configuration; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->take_all();
    replay.add_option("--at", options.parts, "Only this device, as A.root.switch.hca or A.hca; may be repeated")
        ->type_name("PART")
        ->allow_extra_args(false)
        ->take_all();
    replay
        .add_option("--json", options.json,
                    "Write what was found as one JSON object; - is standard output, the text goes to standard error")
        ->type_name("FILE");
    replay.add_option("--jobs", options.jobs, "Processes at a time; default: one a processor")
        ->check(CLI::Range(1u, most_jobs));
}

} // namespace hcasim

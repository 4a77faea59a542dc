#include "testbench/hcasim/calibrate_options.h"

#include "testbench/hcasim/choice.h"

#include <CLI/CLI.hpp>

namespace hcasim {

void add_calibrate(CLI::App& calibrate, CalibrateOptions& options) {
    calibrate.footer(
        "\nEach row is a published figure with its band. Its mark says how reliable it is: A stated in the "
        "publication, "
        "B second\nhand, D derived by arithmetic, M a recollection, which is listed and not counted. The table has the "
        "model's figure\nbeside it, their ratio, and what was busy for most of the measured window. A row whose "
        "bottleneck is another than the\nsource names is a miss, however near its figure; so is one for which the "
        "model "
        "has no mechanism.\n\nRows belong to cards, by the name of the file: connect-ib, connectx5, connectx6dx, "
        "connectx7. Those that are fitted\nhave chosen values of the profile, in the order F1 to F6; all others are "
        "predictions.\n\nExit status: 0 every fitted row and every counted one of F1 to F3 is in band, and 80 % of the "
        "counted ones, 1 not so,\n2 refused, 3 something could not be written.\n");
    calibrate
        .add_option("profiles", options.profiles,
                    "The card as a configuration, a TOML file; default: all of platform/profiles")
        ->type_name("PROFILE.toml");
    calibrate.add_option("--row", options.row, "Only rows whose name has a match, as in 5[.] or read")
        ->type_name("REGEX");
    calibrate
        .add_option("--json", options.json,
                    "Write the rows as one JSON object; - is standard output, the table "
                    "goes to standard error")
        ->type_name("FILE");
    calibrate.add_option("--jobs", options.jobs, "Processes at a time; default: one a processor")
        ->check(CLI::Range(1u, most_jobs));
    calibrate.add_flag("--list", options.lists, "List the rows, and measure nothing");
}

} // namespace hcasim

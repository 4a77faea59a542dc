#include "testbench/hcasim/compare.h"

#include <CLI/CLI.hpp>

namespace hcasim {

CLI::App* add_compare(CLI::App& app, CompareOptions& options) {
    auto* compare = app.add_subcommand("compare", "Hold results of `hcasim run --json` against each other");
    compare->footer(
        "\n  hcasim compare A.json B.json\n  hcasim compare BASELINE RESULT.json...\n  hcasim compare --update "
        "BASELINE RESULT.json...\n\nEvery value is compared: digests of the events and of each component's and "
        "transfer's, counters, "
        "configuration.\nNot compared are wall_seconds, unless a tolerance names it, the revision, and paths.\n\n"
        "--tolerance NAME=5% (or =200, or =any) lets values differ. NAME is a value (sim_time_ns), a list (queues),\n"
        "both (transfers.sim_time_ns), one of a list (components[A.hca]), or one value of it\n"
        "(transfers[WRITE A -> B].sim_time_ns); the closest name counts. A change of time alone is let through by\n"
        "  --tolerance event_digest=any --tolerance sim_time_ns=5% --tolerance rate_bytes_per_second=5%\n"
        "  --tolerance resources=any --tolerance bottlenecks=any --tolerance load=5%\n\n"
        "A baseline has one result by the name of each file (gpudirect of results/gpudirect.json), without what "
        "depends on\nthe machine. --update takes these into it, prints what has changed, and leaves the others.\n\n"
        "Exit status: 0 nothing differs (or the baseline is written), 1 something does, 2 refused: no result, or of "
        "another\nformat or scenario, 3 something could not be written.\n");
    compare->add_option("files", options.files, "Two results, or a baseline and results")
        ->required()
        ->expected(2, 10'000)
        ->type_name("FILE...");
    compare->add_option("--tolerance", options.tolerances, "How much a value may differ; may be repeated, see below")
        ->type_name("NAME=AMOUNT")
        ->allow_extra_args(false)
        ->take_all();
    compare
        ->add_option("--junit", options.junit,
                     "Write a report for CI systems: a test suite a run, a case for each thing that is compared; - is "
                     "standard output, the text goes to standard error")
        ->type_name("FILE");
    compare->add_flag("--update", options.updates, "Write the results into the baseline, which may be new");
    compare->add_flag("--all", options.shows_all, "Print the values that are equal, too, and any number of them");
    return compare;
}

} // namespace hcasim

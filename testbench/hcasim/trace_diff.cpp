#include "traces/tool/diff.h"

#include "testbench/hcasim/trace_commands.h"
#include "testbench/hcasim/trace_files.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"

#include <memory>

namespace hcasim {
namespace {

struct Options {
    std::array<std::string, 2> files;
    traces::tool::DiffOptions diff;
};

int run(const Options& options) {
    for (const auto& file : options.files)
        if (const auto again = can_be_read_again(file); !again)
            return refuse(again.error());
    auto result = TraceResult::standard_output();
    const auto opens = [&](std::size_t side) -> traces::tool::OpenTrace {
        return [&options, side] { return open_trace(options.files[side]); };
    };
    const auto outcome = traces::tool::diff({opens(0), opens(1)}, options.diff, result);
    int status = end_trace("standard output", outcome.output, result);
    for (std::size_t side = 0; side < options.files.size() && status == status::good; ++side)
        status = end_trace(options.files[side], outcome.traces[side]);
    if (status == status::good && !outcome.is_same)
        return status::failed;
    return status;
}

} // namespace

void add_trace_diff(CLI::App& trace, TraceJob& job) {
    const auto options = std::make_shared<Options>();
    auto& command = *trace.add_subcommand("diff", "Where two recordings part, and what there is more or less of");
    command.add_option("A", options->files[0], "A recording")->required()->type_name("FILE");
    command.add_option("B", options->files[1], "Another one")->required()->type_name("FILE");
    command.add_flag("--ignore-times", options->diff.ignore_times, "What comes at another time is the same");
    command.footer("\nCompares interface by interface, in the order of each. Exit status: 0 the same, 1 not the same, "
                   "2 refused, 3 the\nresult could not be written, 5 a recording cannot be read, or not to its end.\n");
    command.callback([&job, options] { job.run = [options] { return run(*options); }; });
}

} // namespace hcasim

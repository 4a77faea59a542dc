#include "testbench/hcasim/trace_reduce.h"

#include "traces/tool/filter.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

namespace hcasim {

void add_reduce(CLI::App& trace, TraceJob& job, const MakeFor& make) {
    constexpr std::int64_t millisecond_ps = 1'000'000'000;
    const auto options = std::make_shared<ReduceOptions>();
    auto& command = *trace.add_subcommand(
        "reduce", "Find a small recording in which a device differs in the same way at the same record");
    command.add_option("file", options->trace, "The recording, in which `hcasim replay` finds a difference")
        ->required()
        ->type_name("FILE");
    command.add_option("--out", options->out, "Recording to write")->required()->type_name("FILE");
    command
        .add_option_function<std::string>(
            "--budget",
            [options](const std::string& text) {
                // A number alone would be picoseconds, as times of a recording are: nobody means them here.
                if (text.find_first_not_of("0123456789.") == text.npos)
                    throw CLI::ValidationError("--budget", fmt::format("\"{0}\" has no unit; {0}s are seconds", text));
                const auto time = traces::tool::parse_time(text);
                if (!time)
                    throw CLI::ValidationError("--budget", time.error());
                options->budget = std::chrono::milliseconds(*time / millisecond_ps);
            },
            "How long to look, in real time; the least that was found by then is kept (default 60s)")
        ->type_name("TIME");
    command.add_flag_callback(
        "--strict", [options] { options->mode = ReplayMode::strict; },
        "Compare times, too: for a difference that is in time alone; what is left out took time, so that less can be");
    command
        .add_option("--at", options->part,
                    "This device, as A.root.switch.hca or A.hca (default: the first that differs)")
        ->type_name("PART");
    command.add_option("--set", options->overrides, "Override a key of the recorded configuration; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->take_all();
    command.callback([&job, options, make] { job.run = [options, make] { return reduce(*options, make); }; });
}

} // namespace hcasim

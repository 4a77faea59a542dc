#include "testbench/hcasim/files.h"
#include "testbench/hcasim/trace_commands.h"
#include "testbench/hcasim/trace_files.h"
#include "testbench/program/console.h"
#include "traces/tool/capture.h"
#include "traces/tool/perfetto.h"

#include <memory>

namespace hcasim {
namespace {

struct Options {
    std::string file, output, format, port;
};

int run(const Options& options) {
    if (const auto apart = is_apart_from(options.file, "--output", options.output); !apart)
        return refuse(apart.error());
    if (const auto again = can_be_read_again(options.file); options.port.empty() && !again)
        return refuse(again.error());
    auto source = open_trace(options.file);
    if (!source)
        return refuse(source.error());
    auto result = TraceResult::create(options.output);
    if (!result)
        return refuse(result.error());
    const auto outcome = options.port.empty()
                             ? traces::tool::perfetto([&] { return open_trace(options.file); }, *result)
                             : traces::tool::capture(**source, options.port, *result);
    // A refusal leaves no file; a recording that is damaged leaves what could be read.
    if (!outcome.complaint.empty())
        return end_trace(options.file, outcome);
    return end_trace(options.file, outcome, *result);
}

} // namespace

void add_trace_convert(CLI::App& trace, TraceJob& job) {
    const auto options = std::make_shared<Options>();
    auto& command = add_trace_command(trace, "convert", "For other people's tools", options->file);
    auto* to =
        command.add_option("--to", options->format, "perfetto: a picture of tracks, which ui.perfetto.dev opens");
    to->type_name("FORMAT")->check(CLI::IsMember({"perfetto"}));
    auto* port = command.add_option("--port", options->port,
                                    "What passed this network port, as a capture of one interface (pcapng)");
    port->type_name("NAME")->excludes(to);
    command.add_option("--output,-o", options->output, "The file to write; - is standard output")
        ->required()
        ->type_name("FILE");
    command.callback([&job, options, to, port] {
        if (to->count() + port->count() == 0)
            throw CLI::RequiredError("--to perfetto or --port NAME");
        job.run = [options] { return run(*options); };
    });
}

} // namespace hcasim

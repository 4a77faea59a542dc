#include "testbench/hcasim/trace.h"

#include "testbench/hcasim/trace_check.h"
#include "testbench/hcasim/trace_commands.h"
#include "testbench/hcasim/trace_files.h"
#include "testbench/hcasim/trace_import.h"
#include "testbench/hcasim/trace_reduce.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/program/units.h"
#include "traces/tool/filter.h"
#include "traces/tool/show.h"
#include "traces/tool/stats.h"
#include "traces/tool/why.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace hcasim {
namespace {

using namespace traces::tool;

/// An option whose value `parse` reads; what that complains about becomes the refusal.
template <class Parse, class Take>
CLI::Option* add_parsed(CLI::App& command, const std::string& name, const char* type, const char* what, Parse parse,
                        Take take) {
    return command
        .add_option_function<std::string>(
            name,
            [=](const std::string& text) {
                const auto value = parse(text);
                if (!value)
                    throw CLI::ValidationError(name, value.error());
                take(*value);
            },
            what)
        ->type_name(type);
}

std::expected<std::uint32_t, std::string> parse_object(std::string_view text) {
    const auto number = parse_number(text);
    if (!number)
        return std::unexpected(number.error());
    if (*number > 0xffff'ffff)
        return std::unexpected(fmt::format("\"{}\" has more than 32 bits", text));
    return static_cast<std::uint32_t>(*number);
}

std::expected<std::uint64_t, std::string> parse_record(std::string_view text) {
    const auto number = parse_number(text);
    if (number && *number == 0)
        return std::unexpected("0 is no record: their numbers begin with 1");
    return number;
}

/// `filter` lives as long as the command.
void add_filter(CLI::App& command, Filter& filter) {
    command
        .add_option("--function", filter.function,
                    "A function, a port, or who says an event: A.root.switch.hca, A.hca, or any part of the name")
        ->type_name("NAME");
    const auto object = [&](const char* name, const char* what, std::optional<std::uint32_t>& into) {
        add_parsed(command, name, "N", what, parse_object, [&into](std::uint32_t value) { into = value; });
    };
    object("--qp",
           "Of this queue pair on any device: its doorbells, WQEs, data, frames, CQEs; --function says of which",
           filter.qpn);
    object("--cq", "Of this completion queue", filter.cqn);
    object("--eq", "Of this event queue", filter.eqn);
    object("--queue", "Of a queue of this number, whatever its kind", filter.queue);
    object("--mkey", "That name this key, in a variant of it", filter.mkey);
    add_parsed(command, "--kind", "KIND,...", "Of these kinds, such as doorbell, wqe, cqe, command, interrupt, frame",
               parse_kinds, [&filter](const std::vector<What>& kinds) { filter.kinds = kinds; });
    add_parsed(command, "--from", "TIME", "Not before this time: 1.5us, 20ns, picoseconds without a unit", parse_time,
               [&filter](std::int64_t time) { filter.from_ps = time; });
    add_parsed(command, "--until", "TIME", "Before this time", parse_time,
               [&filter](std::int64_t time) { filter.until_ps = time; });
    add_parsed(command, "--records", "M-N", "With these numbers; M- is all from M on", parse_range,
               [&filter](const Range& range) { filter.first = range.first, filter.last = range.last; });
}

/// A time that nothing is in is a mistake in one of its ends.
void check_times(const Filter& filter) {
    if (filter.until_ps && filter.from_ps >= *filter.until_ps)
        throw CLI::ValidationError("--until", fmt::format("{} is not later than --from, {}: no record is between them",
                                                          print_time(*filter.until_ps), print_time(filter.from_ps)));
}

/// Opens the recording, lets `work` write to standard output, and says how it went.
template <class Work> int to_standard_output(const std::string& file, Work work) {
    auto source = open_trace(file);
    if (!source)
        return end_trace(file, {.complaint = source.error()});
    auto result = TraceResult::standard_output();
    const auto outcome = work(**source, result);
    const auto how = end_trace(file, outcome, result);
    // Who asks for what is not there would take silence for an answer.
    if (how == status::good && outcome.told == 0u && outcome.records != 0)
        refuse(fmt::format("{}: no record is meant, of {} that were read", file, print_count(outcome.records)));
    return how;
}

void add_show(CLI::App& trace, TraceJob& job) {
    struct Options {
        std::string file, fields;
        ShowOptions show;
    };
    const auto options = std::make_shared<Options>();
    auto& command =
        add_trace_command(trace, "show", "A line a record: when, where, what, and what led to it", options->file);
    add_filter(command, options->show.filter);
    // As a text, so that whoever wants some of the fields is told what there is.
    auto* fields = command.add_flag("--fields", options->fields, "Each structure field by field below its record");
    command.callback([&job, options, fields] {
        check_times(options->show.filter);
        options->show.fields = fields->count() != 0;
        if (options->show.fields && options->fields != "true") {
            const auto kinds = parse_kinds(options->fields);
            throw CLI::ValidationError("--fields", fmt::format("takes no name, it shows structures whole: --kind {}",
                                                               kinds ? options->fields : "...; " + kinds.error()));
        }
        job.run = [options] {
            return to_standard_output(options->file,
                                      [&](auto& source, auto& result) { return show(source, options->show, result); });
        };
    });
}

void add_why(CLI::App& trace, TraceJob& job) {
    struct Options {
        std::string file;
        std::uint64_t record = 0;
    };
    const auto options = std::make_shared<Options>();
    auto& command =
        add_trace_command(trace, "why", "From a record back to the store of the driver that began it", options->file);
    add_parsed(command, "record", "RECORD", "Number of a record, the first column of show", parse_record,
               [options](std::uint64_t number) { options->record = number; })
        ->required();
    command.callback([&job, options] {
        job.run = [options] {
            if (const auto again = can_be_read_again(options->file); !again)
                return refuse(again.error());
            auto result = TraceResult::standard_output();
            const auto outcome = why([&] { return open_trace(options->file); }, options->record, result);
            return end_trace(options->file, outcome, result);
        };
    });
}

void add_stats(CLI::App& trace, TraceJob& job) {
    struct Options {
        std::string file;
        Filter filter;
    };
    const auto options = std::make_shared<Options>();
    auto& command = add_trace_command(trace, "stats",
                                      "How many, how much, how fast: by link, queue and opcode, with "
                                      "percentiles of what took time",
                                      options->file);
    add_filter(command, options->filter);
    command.callback([&job, options] {
        check_times(options->filter);
        job.run = [options] {
            return to_standard_output(
                options->file, [&](auto& source, auto& result) { return stats(source, options->filter, result); });
        };
    });
}

void add_check(CLI::App& trace, TraceJob& job) {
    const auto files = std::make_shared<std::vector<std::string>>();
    auto& command = *trace.add_subcommand("check", "Hold recordings against the rules of the specifications");
    command.add_option("file", *files, "The recordings")->required()->type_name("FILE...");
    command.footer("\nSays of each rule how often it has judged: one that found nothing to judge has not been kept "
                   "either.\n\nExit status: 1 where a rule is violated; else as the other commands.\n");
    command.callback([&job, files] { job.run = [files] { return check_traces(*files); }; });
}

} // namespace

CLI::App* add_trace(CLI::App& app, TraceJob& job) {
    auto* trace = app.add_subcommand("trace", "Say what a recording has: its records, what led to what, statistics");
    trace->require_subcommand(0, 1);
    trace->footer(
        "\nA recording is read as a stream, however long it is. One that is truncated or spoilt is read up "
        "to there.\n\nExit status: 0 read to its end, 1 (of diff) not the same, 2 refused before it "
        "began, as where the\nfile for the result cannot be created, 3 the result could not be written to its end, "
        "5 the recording cannot be\nread, or not to its end: what could be read is there.\n");
    add_show(*trace, job);
    add_why(*trace, job);
    add_stats(*trace, job);
    add_trace_diff(*trace, job);
    add_trace_convert(*trace, job);
    add_import(*trace, job);
    add_reduce(*trace, job, {});
    add_check(*trace, job);
    trace->callback([trace] {
        if (trace->get_subcommands().empty())
            throw CLI::RequiredError("a command is missing: show, why, stats, diff, check, convert, reduce or "
                                     "import; `hcasim trace --help` has more");
    });
    return trace;
}

} // namespace hcasim

#include "testbench/hcasim/trace_check.h"

#include "testbench/hcasim/trace_files.h"
#include "testbench/program/status.h"
#include "traces/monitor/monitor.h"
#include "traces/tool/describe.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace hcasim {
namespace {

namespace codec = traces::codec;
namespace monitor = traces::monitor;
using traces::tool::Output;

/// Records as lines, by their numbers: read again, since until the monitor speaks nobody knows which ones are wanted.
using Lines = std::map<std::uint64_t, std::string>;
Lines lines_of(const monitor::Findings& findings, const OpenTrace& open) {
    Lines lines;
    for (const auto& violation : findings.kept())
        for (const auto number : violation.records)
            lines.try_emplace(number);
    if (lines.empty())
        return lines;
    const auto source = open();
    if (!source || *source == nullptr)
        return lines;
    codec::Reader reader(**source);
    if (!reader.open())
        return lines;
    const auto last = lines.rbegin()->first;
    traces::tool::walk(reader, [&](const codec::Record& record, const auto& seen, const auto&) {
        if (const auto wanted = lines.find(record.number); wanted != lines.end())
            wanted->second = traces::tool::line_of(record, seen, reader.head());
        return record.number < last;
    });
    return lines;
}

void tell(Output& output, const monitor::Violation& violation, const Lines& lines) {
    output.line("");
    output.line(fmt::format("{} ({})", violation.rule.name, violation.rule.chapter));
    output.line(fmt::format("  {}: {}", violation.objects, violation.sentence));
    for (const auto number : violation.records) {
        const auto line = lines.find(number);
        const bool is_decoded = line != lines.end() && !line->second.empty();
        output.line(is_decoded ? "  " + line->second : fmt::format("  record {}", number));
    }
}

void tell(Output& output, const monitor::Verdict& verdict) {
    const auto& [rule, judgements, violations] = verdict;
    output.line(judgements == 0 && violations == 0
                    ? fmt::format("  {:<26} has judged nothing: no {} that it can follow", rule.name, rule.subject)
                    : fmt::format("  {:<26} {} {} judged{}", rule.name, judgements, rule.subject,
                                  violations == 0 ? std::string() : fmt::format(", violated {} times", violations)));
}

} // namespace

TraceChecked check_trace(const std::string& name, codec::Source& trace, const OpenTrace& again,
                         codec::Destination& result) {
    codec::Reader reader(trace);
    Output output(result);
    if (const auto opened = reader.open(); !opened)
        return {finish(reader, opened.error(), output)};
    monitor::Monitor monitor(reader.head());
    std::optional<codec::Fault> fault;
    for (;;) {
        const auto record = reader.next();
        if (!record)
            fault = record.error();
        if (!record || *record == nullptr)
            break;
        monitor.on(**record);
    }
    monitor.on_end(!fault);

    const auto& findings = monitor.findings();
    const auto count = findings.count();
    output.line(fmt::format("{}: {} records{}, {}", name, reader.records(), fault ? " could be read" : "",
                            count == 0   ? std::string("nothing found")
                            : count == 1 ? std::string("1 violation")
                                         : fmt::format("{} violations", count)));
    const auto lines = lines_of(findings, again);
    for (const auto& violation : findings.kept())
        tell(output, violation, lines);
    if (findings.kept().size() < count)
        output.line(fmt::format("and {} more of the same rules", count - findings.kept().size()));
    if (count != 0)
        output.line("");
    for (const auto& verdict : monitor.verdicts())
        tell(output, verdict);
    return {finish(reader, std::move(fault), output), count};
}

int check_traces(const std::vector<std::string>& files) {
    auto result = TraceResult::standard_output();
    bool has_violations = false;
    int worst = status::good;
    for (const auto& file : files) {
        TraceChecked checked;
        if (auto source = open_trace(file); !source) {
            checked.outcome = {.complaint = source.error()};
        } else {
            const auto again = [&]() -> std::expected<std::unique_ptr<codec::Source>, std::string> {
                std::error_code ignored;
                if (!std::filesystem::is_regular_file(file, ignored))
                    return nullptr; // a pipe is read once
                return open_trace(file);
            };
            checked = check_trace(file, **source, again, result);
        }
        const auto ended = end_trace(file, checked.outcome);
        worst = worst == status::good ? ended : worst;
        has_violations |= checked.violations != 0;
        if (checked.outcome.is_output_lost)
            return status::output_lost;
    }
    if (const auto finished = end_trace({}, {}, result); finished != status::good) // standard output is lost
        return finished;
    return has_violations ? status::failed : worst;
}

} // namespace hcasim

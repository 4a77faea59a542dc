#include "testbench/hcasim/baseline.h"

#include "platform/observe/files/json.h"
#include "testbench/result/comparison.h"
#include "testbench/result/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace hcasim {
namespace {

/// Sorted by name, as text.
using Sorted = std::map<std::string, std::string>;

std::string quoted(std::string_view text) {
    fmt::memory_buffer out;
    platform::observe::files::append_quoted(out, text);
    return {out.data(), out.size()};
}

std::string written(const json::Scalar& value) {
    return std::visit(
        []<class T>(const T& plain) -> std::string {
            if constexpr (std::is_same_v<T, std::nullptr_t>)
                return "null";
            else if constexpr (std::is_same_v<T, bool>)
                return plain ? "true" : "false";
            else if constexpr (std::is_same_v<T, std::string>)
                return quoted(plain);
            else
                return fmt::to_string(plain);
        },
        value);
}

/// Its values, but for those that another machine has otherwise, and counts of what never happened.
Sorted values_of(const Thing& thing) {
    Sorted values;
    for (const auto& [name, value] : thing.values)
        if (!is_of_machine(name) && !(counts_absent_as_zero(thing.group) && value == json::Scalar(std::uint64_t{0})))
            values.emplace(name, written(value));
    return values;
}

std::string on_one_line(const Sorted& values) {
    std::string text;
    for (const auto& [name, value] : values)
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", quoted(name), value);
    return "{" + text + "}";
}

/// An object with a line for each of `lines`.
std::string block(const Sorted& lines, std::size_t indent) {
    std::string text = "{";
    for (const auto& [name, value] : lines)
        text += fmt::format("{}\n{:{}}{}: {}", text.size() == 1 ? "" : ",", "", indent + 2, quoted(name), value);
    return lines.empty() ? "{}" : fmt::format("{}\n{:{}}}}", text, "", indent);
}

std::string print_run(const ResultFile& result) {
    std::map<std::string, Sorted> groups;
    Sorted run;
    for (const auto& thing : result.things) {
        auto values = values_of(thing);
        if (thing.group.empty())
            run.merge(values);
        else if (thing.name.empty())
            groups[thing.group].merge(values);
        else
            groups[thing.group].emplace(thing.name, on_one_line(values));
    }
    for (const auto& [name, lines] : groups)
        run.emplace(name, block(lines, 6));
    return block(run, 4);
}

} // namespace

std::vector<ResultFile> merge(std::vector<ResultFile> baseline, std::vector<ResultFile> fresh) {
    std::erase_if(baseline, [&](const ResultFile& old) {
        return std::ranges::find(fresh, old.name, &ResultFile::name) != fresh.end();
    });
    std::ranges::move(fresh, std::back_inserter(baseline));
    return baseline;
}

std::string print_baseline(const std::vector<ResultFile>& results) {
    Sorted runs;
    for (const auto& result : results)
        runs.emplace(result.name, print_run(result));
    // As block() has it, with what the file says of itself in front.
    return fmt::format("{{\n  \"kind\": {},\n  \"format\": {},\n  \"runs\": {}\n}}\n", quoted(baseline_kind),
                       baseline_format, block(runs, 2));
}

} // namespace hcasim

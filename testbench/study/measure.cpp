#include "testbench/study/measure.h"

#include "testbench/program/status.h"
#include "testbench/result/comparison.h"
#include "testbench/result/metrics.h"
#include "testbench/result/result_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <expected>
#include <map>

namespace study {
namespace {

using Json = nlohmann::ordered_json;

std::string first_line(std::string_view text) {
    constexpr std::string_view ours = "hcasim: ";
    if (text.starts_with(ours))
        text.remove_prefix(ours.size());
    return std::string(text.substr(0, text.find('\n')));
}

void forget_machine(Json& value) {
    if (value.is_object())
        for (auto member = value.begin(); member != value.end();)
            if (hcasim::is_of_machine(member.key())) {
                member = value.erase(member);
            } else {
                forget_machine(*member);
                ++member;
            }
    else if (value.is_array())
        for (auto& item : value)
            forget_machine(item);
}

/// NaN: there is none (null).
using Values = std::map<std::string, double, std::less<>>;

/// Each number of a result by its name as `hcasim compare` has it.
Values values_of(const hcasim::ResultFile& result) {
    Values values;
    for (const auto& thing : result.things)
        for (const auto& [name, value] : thing.values)
            if (const auto number = std::holds_alternative<std::nullptr_t>(value)
                                        ? std::optional(std::numeric_limits<double>::quiet_NaN())
                                        : hcasim::number_of(value)) {
                const auto group = thing.name.empty() ? thing.group : fmt::format("{}[{}]", thing.group, thing.name);
                values[group.empty() ? name : fmt::format("{}.{}", group, name)] = *number;
            }
    return values;
}

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        auto corner = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const auto above = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, corner + (a[i - 1] == b[j - 1] ? 0 : 1)});
            corner = above;
        }
    }
    return row.back();
}

/// Of "traffic[all].messages": "traffic"; of "sim_time_ns": nothing.
std::string_view group_of(std::string_view name) {
    const auto end = name.find_first_of("[.");
    return end == name.npos ? std::string_view() : name.substr(0, end);
}
std::string_view field_of(std::string_view name) { return name.substr(name.rfind('.') + 1); }

/// Numbers of the result that may be meant: of the same list the nearest one. Where that has none, as `traffic` in a
/// scenario of a drive, those whose field is nearest, each field once; keys and events are no measurements.
std::vector<std::string> nearest_to(const std::string& name, const Values& values) {
    constexpr std::size_t most = 3, most_letters = 200;
    std::vector<std::pair<std::size_t, std::string>> found;
    for (const auto& [other, value] : values)
        if (group_of(other) == group_of(name))
            found.emplace_back(distance(std::string_view(other).substr(0, most_letters), name), other);
    if (!found.empty())
        return {std::ranges::min(found).second};
    for (const auto& [other, value] : values) {
        const auto group = group_of(other);
        if (group != "configuration" && group != "events" && group != "reasons")
            found.emplace_back(distance(field_of(other).substr(0, most_letters), field_of(name)), other);
    }
    std::ranges::sort(found);
    std::vector<std::string> names;
    for (const auto& [far, other] : found)
        if (names.size() < most &&
            std::ranges::find(names, field_of(other), [](const auto& each) { return field_of(each); }) == names.end())
            names.push_back(other);
    return names;
}

constexpr std::string_view no_number = "the result has no number '";

std::expected<double, std::string> look_up(const Values& values, const std::string& name) {
    if (const auto found = values.find(name); found != values.end())
        return found->second;
    const auto nearest = nearest_to(name, values);
    return std::unexpected(fmt::format(
        "{}{}'{}", no_number, name,
        nearest.empty() ? std::string() : fmt::format(", did you mean '{}'?", fmt::join(nearest, "' or '"))));
}

std::expected<double, std::string> value_of(const Metric& metric, const Values& values) {
    auto value = look_up(values, metric.value);
    if (!value)
        return value;
    if (std::isnan(*value)) {
        if (!metric.otherwise)
            return std::unexpected(fmt::format("there is no '{}' in this result (null); [[metrics]] otherwise = ... "
                                               "says what counts then",
                                               metric.value));
        value = *metric.otherwise;
    }
    if (!metric.per.empty()) {
        const auto per = look_up(values, metric.per);
        if (!per)
            return per;
        *value /= *per;
    }
    *value *= metric.scale;
    if (!std::isfinite(*value))
        return std::unexpected(fmt::format("'{}' is no number here", metric.name));
    return value;
}

Outcome fail(Outcome outcome, Status status, std::string reason) {
    outcome.status = status;
    outcome.reason = std::move(reason);
    outcome.metrics.clear();
    return outcome;
}

std::string text_of(const Json& result, const char* name) {
    const auto found = result.find(name);
    return found != result.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace

std::vector<std::string> command_of(const Study& study, const Point& point, const std::string& program) {
    std::vector<std::string> words{program, "run", study.base};
    for (const auto& [key, value] : all_settings(study, point)) {
        words.emplace_back("--set");
        words.push_back(fmt::format("{}={}", key, value));
    }
    if (!study.payload.empty()) {
        words.emplace_back("--payload");
        words.push_back(study.payload);
    }
    return words;
}

std::string without_machine(const std::string& result) {
    auto json = Json::parse(result);
    forget_machine(json);
    json.erase("payload_path");
    return json.dump();
}

Outcome outcome_of(const Study& study, const Point& point, const Ended& ended) {
    Outcome outcome{.point = point, .wall_seconds = ended.seconds};
    if (ended.way == Ended::Way::late)
        return fail(std::move(outcome), Status::late, fmt::format("not finished within {} s", study.timeout_s));
    if (ended.way == Ended::Way::lost)
        return fail(std::move(outcome), Status::crashed, ended.errors);
    if (ended.way == Ended::Way::signal)
        return fail(std::move(outcome), Status::crashed,
                    fmt::format("ended by signal {} ({})", ended.number, strsignal(ended.number)));
    if (ended.number == hcasim::status::refused)
        return fail(std::move(outcome), Status::refused, first_line(ended.errors));
    const auto result = hcasim::read_compared(ended.output, "the result");
    if (!result || result->results.empty())
        return fail(std::move(outcome), Status::crashed,
                    fmt::format("ended with status {}: {}", ended.number,
                                ended.errors.empty() ? "and said nothing" : first_line(ended.errors)));
    outcome.result = without_machine(ended.output);
    const auto json = Json::parse(outcome.result);
    outcome.event_digest = text_of(json, "event_digest");
    outcome.version = text_of(json, "version");
    outcome.revision = text_of(json, "revision");
    if (ended.number != hcasim::status::good) {
        const auto why = text_of(json, "failure");
        return fail(std::move(outcome), Status::failed,
                    why.empty() ? fmt::format("ended with status {}", ended.number) : first_line(why));
    }
    const auto values = values_of(result->results.front());
    for (const auto& metric : study.metrics) {
        const auto value = value_of(metric, values);
        if (!value)
            return fail(std::move(outcome), Status::failed, value.error());
        outcome.metrics[metric.name] = *value;
    }
    return outcome;
}

bool lacks_number(const Outcome& outcome) {
    return outcome.status == Status::failed && outcome.reason.starts_with(no_number);
}

} // namespace study

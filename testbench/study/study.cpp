#include "testbench/study/study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace study {

using platform::topology::Kind;
using platform::topology::Value;

namespace {

constexpr double picoseconds_per_nanosecond = 1000;

/// Bytes, picoseconds, or the number itself.
double raw(const Axis& axis, std::string_view value) {
    const auto parsed = platform::topology::parse(axis.kind, value);
    if (!parsed)
        return 0;
    if (const auto* whole = std::get_if<std::int64_t>(&*parsed))
        return static_cast<double>(*whole);
    const auto* number = std::get_if<double>(&*parsed);
    return number == nullptr ? 0 : *number;
}

/// Whole, and of a size or a time as much as a person reads: "39240 ns" and "2432 MiB".
std::int64_t rounded(Kind kind, double number) {
    double unit = 1;
    if (kind == Kind::time && number > 0) {
        constexpr int digits = 4;
        unit = std::max(1.0, std::pow(10, std::floor(std::log10(number)) - (digits - 1)));
    } else if (kind == Kind::size && number >= 1) {
        constexpr double share = 256;
        unit = std::max(1.0, static_cast<double>(std::bit_floor(static_cast<std::uint64_t>(number))) / share);
    }
    return std::llround(number / unit) * std::llround(unit);
}

} // namespace

std::string print(const Settings& settings) {
    std::string text;
    for (const auto& [key, value] : settings)
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
    return text;
}

double coordinate(const Axis& axis, std::string_view value) {
    if (!axis.is_number())
        return static_cast<double>(std::ranges::find(axis.values, value) - axis.values.begin());
    return axis.kind == Kind::time ? raw(axis, value) / picoseconds_per_nanosecond : raw(axis, value);
}

bool is_same(const Axis& axis, std::string_view a, std::string_view b) {
    return a == b || (axis.is_number() && platform::topology::parse(axis.kind, a) &&
                      platform::topology::parse(axis.kind, b) && raw(axis, a) == raw(axis, b));
}

std::string nearest_value(const Axis& axis, double number) {
    if (axis.kind == Kind::number)
        return fmt::format("{:.6g}", number);
    auto whole = rounded(axis.kind, number);
    if (axis.is_power_of_two) {
        const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max(1.0, number))));
        whole = number / static_cast<double>(below) < std::sqrt(2.0) ? below : below * 2;
    }
    return platform::topology::print(axis.kind, Value(whole));
}

std::optional<std::string> middle(const Axis& axis, std::string_view low, std::string_view high) {
    if (!axis.is_number())
        return {};
    const auto a = raw(axis, low), b = raw(axis, high);
    const bool is_geometric = axis.spacing != Spacing::linear && a > 0;
    auto found = nearest_value(axis, is_geometric ? std::sqrt(a * b) : (a + b) / 2);
    const auto at = raw(axis, found);
    if (!(a < at && at < b))
        return {};
    return found;
}

const Axis* Study::axis(std::string_view key) const {
    const auto found = std::ranges::find(axes, key, &Axis::key);
    return found == axes.end() ? nullptr : &*found;
}

const Metric* Study::metric(std::string_view name) const {
    const auto found = std::ranges::find(metrics, name, &Metric::name);
    return found == metrics.end() ? nullptr : &*found;
}

Settings all_settings(const Study& study, const Point& point) {
    auto all = study.set;
    all.insert(all.end(), point.settings.begin(), point.settings.end());
    for (const auto& key : study.seed_keys)
        all.push_back({key, fmt::to_string(study.seed + point.repetition)});
    return all;
}

std::vector<std::string> identity(const Study& study, std::string_view platform) {
    std::vector<std::string> lines;
    for (const auto& axis : study.axes)
        lines.push_back(fmt::format("axis {}: {} ({} to {}, spacing {})", axis.key, fmt::join(axis.values, " "),
                                    axis.from, axis.to, static_cast<int>(axis.spacing)));
    lines.push_back(fmt::format("design {}, {} drawn of seed {}", static_cast<int>(study.design), study.drawn_points,
                                study.drawn_seed));
    lines.push_back(fmt::format("{} repetitions of seed {}, set to {}, within {} s", study.repetitions, study.seed,
                                fmt::join(study.seed_keys, " "), study.timeout_s));
    for (const auto& metric : study.metrics)
        lines.push_back(fmt::format("metric {}: {}{} per {} times {}, {} is better", metric.name, metric.value,
                                    metric.otherwise ? fmt::format(" or {}", *metric.otherwise) : "",
                                    metric.per.empty() ? "nothing" : metric.per, metric.scale,
                                    metric.is_more_better ? "more" : "less"));
    const auto bound = [](const std::optional<double>& limit) { return limit ? fmt::to_string(*limit) : "any"; };
    for (const auto& one : study.constraints)
        if (one.metric.empty())
            lines.push_back(fmt::format("constraint {}: {} to {}", fmt::join(one.keys, " times "), bound(one.at_least),
                                        bound(one.at_most)));
    const auto& more = study.refinement;
    lines.push_back(fmt::format("refinement {} of {} along {}, {} rounds: drop {}, until {}, keep {}, {} from {} by {}",
                                static_cast<int>(more.way), more.metric, more.along, more.rounds, more.drop, more.until,
                                more.keep, more.budget, more.budget_from, more.factor));
    const auto& stop = study.stop;
    lines.push_back(fmt::format("stop at {} points, {} failures; error {} with {} repetitions at confidence {}",
                                stop.points, stop.failures, stop.relative_error, stop.most_repetitions,
                                study.confidence));
    lines.push_back(fmt::format("set {}", print(study.set)));
    for (std::size_t at = 0, line = 0; at < platform.size(); at = line + 1) {
        line = std::min(platform.find('\n', at), platform.size());
        lines.push_back(fmt::format("base: {}", platform.substr(at, line - at)));
    }
    return lines;
}

} // namespace study

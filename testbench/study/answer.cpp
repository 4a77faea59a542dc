#include "testbench/study/answer.h"

#include "testbench/program/console.h"
#include "testbench/study/best.h"
#include "testbench/study/cells.h"
#include "testbench/study/effects.h"
#include "testbench/study/knee.h"
#include "testbench/study/pareto.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace study {
namespace {

std::string with_unit(double value, const Metric& metric) {
    return fmt::format("{}{}{}", print_number(value), metric.unit.empty() ? "" : " ", metric.unit);
}

std::string at(const Settings& settings) { return settings.empty() ? std::string() : " at " + print(settings); }

/// Whether a place has all of these values.
bool has_all(const Study& study, const Settings& place, const Settings& wanted) {
    return std::ranges::all_of(wanted, [&](const Setting& one) {
        const auto found = std::ranges::find(place, one.key, &Setting::key);
        const auto* axis = study.axis(one.key);
        return found != place.end() && axis != nullptr && is_same(*axis, found->value, one.value);
    });
}

/// Of the coordinate of an axis: "38 us".
std::string print_place(const Axis& axis, double coordinate) {
    using platform::topology::Kind;
    constexpr double picoseconds_per_nanosecond = 1000;
    if (axis.kind != Kind::time && axis.kind != Kind::size)
        return print_number(coordinate);
    const auto number = axis.kind == Kind::time ? coordinate * picoseconds_per_nanosecond : coordinate;
    return platform::topology::print(axis.kind, platform::topology::Value(std::llround(number)));
}

/// "Published is 128 to 512 (SRNIC, NSDI 2023): it is in this band."
std::string compare(const std::string& from, const std::string& to, const std::string& source, bool is_inside) {
    return fmt::format("Published is {} ({}): it is {} this band.",
                       from == to ? from : fmt::format("{} to {}", from, to), source, is_inside ? "in" : "outside of");
}
std::string compare(const Axis& axis, const Expectation& one, bool is_inside) {
    return " " + compare(print_place(axis, one.from), print_place(axis, one.to), one.source, is_inside);
}

void add_knees(const Study& study, std::span<const Cell> cells, std::vector<std::string>& said) {
    const auto& more = study.refinement;
    if (more.way != Refinement::Way::knee)
        return;
    const auto& metric = *study.metric(more.metric);
    const auto& along = *study.axis(more.along);
    const auto knees = knees_of(study, cells);
    for (const auto& curve : curves_along(along, more.metric, cells)) {
        const auto knee = std::ranges::find(knees, curve.others, &Knee::others);
        if (knee == knees.end()) {
            auto text = fmt::format("No knee{}: {} stays within {:.3g} % of its best from {}={} to {}.",
                                    at(curve.others), more.metric, more.drop * 100, more.along,
                                    curve.places.front().value, curve.places.back().value);
            if (const auto& published = study.expected; published && has_all(study, curve.others, published->at))
                text += compare(along, *published, false);
            said.push_back(std::move(text));
            continue;
        }
        auto text = fmt::format("The knee{} lies between {}={} and {}: {} is {} before it, {} behind it, and {} at {}.",
                                at(knee->others), more.along, knee->before, knee->behind, more.metric,
                                with_unit(knee->best, metric), with_unit(knee->worse, metric),
                                with_unit(knee->last, metric), curve.places.back().value);
        if (const auto& published = study.expected; published && has_all(study, knee->others, published->at))
            text += compare(along, *published, knee->to >= published->from && knee->from <= published->to);
        said.push_back(std::move(text));
    }
}

void add_published(const Study& study, std::span<const Cell> cells, std::vector<std::string>& said) {
    const auto look_up = [&](const Published& one, const Settings& place) {
        const auto found = std::ranges::find_if(cells, [&](const Cell& cell) {
            return has_all(study, cell.settings, place) && cell.metric(one.metric) != nullptr;
        });
        return found == cells.end() ? std::optional<double>() : found->metric(one.metric)->mean;
    };
    for (const auto& one : study.published) {
        auto other = one.at;
        for (const auto& [key, value] : one.over)
            std::ranges::find(other, key, &Setting::key)->value = value;
        const auto here = look_up(one, one.at), there = look_up(one, other);
        if (!here || !there) {
            said.push_back(fmt::format("What was published of {}{} ({}) cannot be held against anything: no point of "
                                       "it is done.",
                                       one.metric, at(one.at), one.source));
            continue;
        }
        const auto value = one.over.empty() ? *here : *here / *there;
        said.push_back(fmt::format(
            "{}{} is {}{}. {}", one.metric, at(one.at),
            one.over.empty() ? with_unit(value, *study.metric(one.metric)) : print_number(value),
            one.over.empty() ? std::string() : fmt::format(" of that at {}", print(one.over)),
            compare(print_number(one.from), print_number(one.to), one.source, value >= one.from && value <= one.to)));
    }
}

void add_effects(const Study& study, std::span<const Cell> cells, std::vector<std::string>& said) {
    if (study.axes.size() < 2)
        return;
    for (const auto& metric : study.metrics) {
        const auto effects = effects_of(study, metric, cells);
        if (!effects.why_not.empty() || effects.all.empty())
            continue;
        const auto& first = effects.all.front();
        constexpr double worth_telling = 0.01;
        std::vector<std::string> parts;
        for (const auto& effect : effects.all)
            if (effect.share > worth_telling)
                parts.push_back(fmt::format("{} {:.0f} %", fmt::join(effect.axes, " with "), effect.share * 100));
        if (parts.empty())
            continue;
        const auto* const what = effects.kind == Effects::Kind::variance ? "of the variation of"
                                 : effects.kind == Effects::Kind::range  ? "of all ranges of"
                                                                         : "squared rank correlation with";
        said.push_back(fmt::format("{} decides most about {}: {} {} {}.", fmt::join(first.axes, " with "), metric.name,
                                   fmt::join(parts, ", "), what, metric.name));
    }
}

void add_front(const Study& study, std::span<const Cell> cells, std::vector<std::string>& said) {
    if (study.objectives.size() < 2)
        return;
    const auto front = pareto_front(study, cells);
    std::vector<std::string> places;
    for (const auto* cell : front)
        places.push_back(cell->settings.empty() ? "the base" : print(cell->settings));
    said.push_back(fmt::format("No place is better in all of {} than these {}: {}.", fmt::join(study.objectives, ", "),
                               front.size(), fmt::join(places, "; ")));
}

void add_failures(std::span<const Outcome> outcomes, std::vector<std::string>& said) {
    std::map<std::string, std::size_t> reasons;
    for (const auto& one : outcomes)
        if (one.status != Status::done)
            ++reasons[fmt::format("{}: {}", to_string(one.status), one.reason)];
    for (const auto& [reason, count] : reasons)
        said.push_back(fmt::format("{} of {} points {}.", count, outcomes.size(), reason));
}

} // namespace

std::string print_number(double value) {
    // Exponents only where digits would be nothing but zeros.
    return std::abs(value) >= 1e4 && std::abs(value) < 1e7 ? fmt::format("{:.0f}", value)
                                                           : fmt::format("{:.4g}", value);
}

std::string print_points(std::size_t count) { return fmt::format("{} point{}", count, count == 1 ? "" : "s"); }

std::vector<std::string> answer(const Study& study, std::span<const Outcome> outcomes) {
    const auto cells = cells_of(study, outcomes);
    std::vector<std::string> said;
    add_knees(study, cells, said);
    add_published(study, cells, said);
    add_best(study, cells, said);
    add_effects(study, cells, said);
    add_front(study, cells, said);
    add_failures(outcomes, said);
    if (outcomes.empty())
        said.emplace_back("No point has been run yet.");
    else if (said.empty())
        said.push_back(
            fmt::format("Nothing follows from {}: there is nothing to compare.", print_points(outcomes.size())));
    return said;
}

std::string print_answer(const std::vector<std::string>& sentences, std::size_t width) {
    std::string text;
    for (const auto& sentence : sentences)
        text += fmt::format("  {}\n", hcasim::printable(sentence));
    return hcasim::wrap(text, width);
}

} // namespace study

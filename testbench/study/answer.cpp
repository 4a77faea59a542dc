#include "testbench/study/answer.h"

#include "testbench/hcasim/console.h"
#include "testbench/study/cells.h"
#include "testbench/study/effects.h"
#include "testbench/study/knee.h"
#include "testbench/study/pareto.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace study {
namespace {

std::string with_unit(double value, const Metric& metric) {
    return fmt::format("{}{}{}", print_number(value), metric.unit.empty() ? "" : " ", metric.unit);
}

std::string at(const Settings& settings) { return settings.empty() ? std::string() : " at " + print(settings); }

bool is_of(const Knee& knee, const Settings& wanted) {
    return std::ranges::all_of(
        wanted, [&](const Setting& one) { return std::ranges::find(knee.others, one) != knee.others.end(); });
}

void add_knees(const Study& study, std::span<const Cell> cells, std::vector<std::string>& said) {
    const auto& more = study.refinement;
    if (more.way != Refinement::Way::knee)
        return;
    const auto& metric = *study.metric(more.metric);
    const auto knees = knees_of(study, cells);
    for (const auto& curve : curves_along(*study.axis(more.along), more.metric, cells)) {
        const auto knee = std::ranges::find(knees, curve.others, &Knee::others);
        if (knee == knees.end()) {
            said.push_back(fmt::format("No knee{}: {} stays within {:.3g} % of its best from {}={} to {}.",
                                       at(curve.others), more.metric, more.drop * 100, more.along,
                                       curve.places.front().value, curve.places.back().value));
            continue;
        }
        auto text = fmt::format("The knee{} lies between {}={} and {}: {} is {} before it, {} behind it, and {} at {}.",
                                at(knee->others), more.along, knee->before, knee->behind, more.metric,
                                with_unit(knee->best, metric), with_unit(knee->worse, metric),
                                with_unit(knee->last, metric), curve.places.back().value);
        if (study.expected && is_of(*knee, study.expected->at)) {
            const bool is_inside = knee->to >= study.expected->from && knee->from <= study.expected->to;
            text +=
                fmt::format(" Published is {} to {} ({}): it is {} this band.", print_number(study.expected->from),
                            print_number(study.expected->to), study.expected->source, is_inside ? "in" : "outside of");
        }
        said.push_back(std::move(text));
    }
}

void add_best(const Study& study, std::span<const Cell> cells, std::vector<std::string>& said) {
    for (const auto& metric : study.metrics) {
        const Cell *best = nullptr, *worst = nullptr;
        for (const auto& cell : cells) {
            const auto* value = cell.metric(metric.name);
            if (value == nullptr || !is_feasible(study, cell))
                continue;
            const auto is_better = [&](const Cell* than) {
                const auto by = value->mean - than->metric(metric.name)->mean;
                return metric.is_more_better ? by > 0 : by < 0;
            };
            best = best == nullptr || is_better(best) ? &cell : best;
            worst = worst == nullptr || !is_better(worst) ? &cell : worst;
        }
        if (best == nullptr)
            continue;
        const auto& found = *best->metric(metric.name);
        const auto spread = found.half_width > 0 ? fmt::format(" +- {}", print_number(found.half_width)) : "";
        said.push_back(fmt::format("{} is best with {}{}{}, and worst with {}{}.", metric.name,
                                   with_unit(found.mean, metric), spread, at(best->settings),
                                   with_unit(worst->metric(metric.name)->mean, metric), at(worst->settings)));
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

std::string print_number(double value) { return fmt::format("{:.4g}", value); }

std::vector<std::string> answer(const Study& study, std::span<const Outcome> outcomes) {
    const auto cells = cells_of(study, outcomes);
    std::vector<std::string> said;
    add_knees(study, cells, said);
    add_best(study, cells, said);
    add_effects(study, cells, said);
    add_front(study, cells, said);
    add_failures(outcomes, said);
    return said;
}

std::string print_answer(const std::vector<std::string>& sentences, std::size_t width) {
    std::string text;
    for (const auto& sentence : sentences)
        text += fmt::format("  {}\n", hcasim::printable(sentence));
    return hcasim::wrap(text, width);
}

} // namespace study

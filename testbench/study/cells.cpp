#include "testbench/study/cells.h"

#include <algorithm>

namespace study {

const Summary* Cell::metric(std::string_view name) const {
    const auto found = metrics.find(name);
    return found == metrics.end() ? nullptr : &found->second;
}

const std::string* Cell::value(std::string_view key) const {
    const auto found = std::ranges::find(settings, key, &Setting::key);
    return found == settings.end() ? nullptr : &found->value;
}

std::vector<Cell> cells_of(const Study& study, std::span<const Outcome> outcomes) {
    std::vector<Cell> cells;
    std::map<std::string, std::size_t> places;
    for (const auto& outcome : outcomes) {
        const auto [place, is_new] = places.try_emplace(print(outcome.point.settings), cells.size());
        if (is_new)
            cells.push_back({.settings = outcome.point.settings, .round = outcome.point.round});
        cells[place->second].outcomes.push_back(&outcome);
    }
    for (auto& cell : cells)
        for (const auto& metric : study.metrics) {
            std::vector<double> values;
            for (const auto* outcome : cell.outcomes)
                if (const auto value = outcome->metrics.find(metric.name); value != outcome->metrics.end())
                    values.push_back(value->second);
            if (!values.empty())
                cell.metrics[metric.name] = summarise(values, study.confidence);
        }
    return cells;
}

bool is_feasible(const Study& study, const Cell& cell) {
    return std::ranges::all_of(study.constraints, [&](const Constraint& one) {
        if (one.metric.empty())
            return true;
        const auto* metric = cell.metric(one.metric);
        return metric != nullptr && one.holds(metric->mean);
    });
}

std::vector<Curve> curves_along(const Axis& axis, std::string_view metric, std::span<const Cell> cells) {
    std::vector<Curve> curves;
    for (const auto& cell : cells) {
        const auto* value = cell.value(axis.key);
        const auto* found = cell.metric(metric);
        if (value == nullptr || found == nullptr)
            continue;
        auto others = cell.settings;
        std::erase_if(others, [&](const Setting& one) { return one.key == axis.key; });
        auto curve = std::ranges::find(curves, others, &Curve::others);
        if (curve == curves.end())
            curve = curves.insert(curves.end(), {.others = std::move(others), .places = {}});
        curve->places.push_back({*value, coordinate(axis, *value), *found, &cell});
    }
    for (auto& curve : curves)
        std::ranges::stable_sort(curve.places, {}, &Curve::Place::at);
    return curves;
}

} // namespace study

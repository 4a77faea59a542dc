#include "testbench/study/best.h"

#include "testbench/study/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace study {
namespace {

std::string print_value(const Metric& metric, double value) {
    return fmt::format("{}{}{}", print_number(value), metric.unit.empty() ? "" : " ", metric.unit);
}

std::string print_mean(const Metric& metric, const Cell& cell) {
    const auto& found = *cell.metric(metric.name);
    return print_value(metric, found.mean) +
           (found.half_width > 0 ? fmt::format(" +- {}", print_number(found.half_width)) : "");
}

std::string where_it_is(const Cell& cell) {
    return cell.settings.empty() ? std::string() : " at " + print(cell.settings);
}

/// Sums of the same numbers in another order are equal.
bool is_equal(double one, double other) {
    constexpr double rounding = 1e-9;
    return std::abs(one - other) <= rounding * std::max(std::abs(one), std::abs(other));
}

/// "p99 at most 300 us"
std::string print_bounds(const Study& study, const Constraint& one) {
    const auto& metric = *study.metric(one.metric);
    std::vector<std::string> bounds;
    if (one.at_least)
        bounds.push_back("at least " + print_value(metric, *one.at_least));
    if (one.at_most)
        bounds.push_back("at most " + print_value(metric, *one.at_most));
    return fmt::format("{} {}", one.metric, fmt::join(bounds, " and "));
}

/// How many places the constraints of metrics leave, and where there is none, what there is of them.
void add_constraints(const Study& study, std::span<const Cell> cells, std::vector<std::string>& said) {
    std::vector<std::string> bounds, found;
    for (const auto& one : study.constraints) {
        if (one.metric.empty())
            continue;
        bounds.push_back(print_bounds(study, one));
        std::vector<double> values;
        for (const auto& cell : cells)
            if (const auto* value = cell.metric(one.metric))
                values.push_back(value->mean);
        if (values.empty())
            continue;
        const auto [least, most] = std::ranges::minmax(values);
        const auto& metric = *study.metric(one.metric);
        found.push_back(
            fmt::format("{} is {} to {}", one.metric, print_value(metric, least), print_value(metric, most)));
    }
    if (bounds.empty() || cells.empty())
        return;
    const auto left = std::ranges::count_if(cells, [&](const Cell& cell) { return is_feasible(study, cell); });
    if (left == 0)
        said.push_back(fmt::format("No place satisfies {}: {}.", fmt::join(bounds, ", "), fmt::join(found, ", ")));
    else
        said.push_back(fmt::format("{} of {} places satisfy {}; what is best and worst is among these.", left,
                                   cells.size(), fmt::join(bounds, ", ")));
}

} // namespace

void add_best(const Study& study, std::span<const Cell> cells, std::vector<std::string>& said) {
    add_constraints(study, cells, said);
    for (const auto& metric : study.metrics) {
        std::vector<const Cell*> places;
        for (const auto& cell : cells)
            if (cell.metric(metric.name) != nullptr && is_feasible(study, cell))
                places.push_back(&cell);
        if (places.empty())
            continue;
        const auto mean = [&](const Cell* cell) { return cell->metric(metric.name)->mean; };
        const auto* least = *std::ranges::min_element(places, {}, mean); // the first of equal ones, as the most is
        const auto* most = *std::ranges::max_element(places, {}, mean);
        const auto *best = metric.is_more_better ? most : least, *worst = metric.is_more_better ? least : most;
        if (is_equal(mean(best), mean(worst))) {
            said.push_back(fmt::format("{} is {}{}.", metric.name, print_mean(metric, *best),
                                       places.size() > 1 ? " everywhere" : where_it_is(*best)));
            continue;
        }
        const auto alike =
            std::ranges::count_if(places, [&](const Cell* cell) { return is_equal(mean(cell), mean(best)); }) - 1;
        const auto others =
            alike == 0 ? std::string() : fmt::format(" and {} other place{}", alike, alike == 1 ? "" : "s");
        const auto spread = best->metric(metric.name)->half_width + worst->metric(metric.name)->half_width;
        const bool is_of_seeds = spread > 0 && std::abs(mean(best) - mean(worst)) <= spread;
        said.push_back(fmt::format("{} is best with {}{}{}, and worst with {}{}{}.", metric.name,
                                   print_mean(metric, *best), where_it_is(*best), others, print_mean(metric, *worst),
                                   where_it_is(*worst),
                                   is_of_seeds ? ": no more than their seeds make them differ" : ""));
    }
}

} // namespace study

#include "testbench/study/effects.h"

#include "testbench/study/design.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace study {
namespace {

/// A sum with its count.
struct Mean {
    double sum = 0, count = 0;
    void add(double value) {
        sum += value;
        count += 1;
    }
    double value() const { return count == 0 ? 0 : sum / count; }
};

/// Values of a cell's repetitions.
std::vector<double> values_of(const Cell& cell, const Metric& metric) {
    std::vector<double> values;
    for (const auto* outcome : cell.outcomes)
        if (const auto found = outcome->metrics.find(metric.name); found != outcome->metrics.end())
            values.push_back(found->second);
    return values;
}

std::string key_of(const Cell& cell, const std::vector<std::string>& axes) {
    std::string key;
    for (const auto& axis : axes)
        key += *cell.value(axis) + "\n";
    return key;
}

double square(double value) { return value * value; }

/// Sum of squares of the means of each combination of these axes' values around the mean of all.
struct Between {
    double squares = 0;
    std::size_t levels = 0;
    double least = 0, most = 0;
};
Between between(std::span<const Cell* const> cells, const Metric& metric, const std::vector<std::string>& axes,
                double mean) {
    std::map<std::string, Mean> means;
    for (const auto* cell : cells)
        for (const auto value : values_of(*cell, metric))
            means[key_of(*cell, axes)].add(value);
    Between found{.levels = means.size(), .least = HUGE_VAL, .most = -HUGE_VAL};
    for (const auto& [key, one] : means) {
        found.squares += one.count * square(one.value() - mean);
        found.least = std::min(found.least, one.value());
        found.most = std::max(found.most, one.value());
    }
    return found;
}

Effects variance(const Study& study, const Metric& metric, std::span<const Cell* const> cells) {
    Effects effects;
    Mean mean;
    std::size_t repetitions = 0;
    for (const auto* cell : cells) {
        const auto values = values_of(*cell, metric);
        if (repetitions == 0)
            repetitions = values.size();
        if (values.size() != repetitions || values.empty()) {
            effects.why_not = "places have different numbers of values, and the shares of a grid want the same";
            return effects;
        }
        for (const auto value : values)
            mean.add(value);
    }
    double whole = 0, within = 0;
    for (const auto* cell : cells) {
        Mean own;
        for (const auto value : values_of(*cell, metric)) {
            whole += square(value - mean.value());
            own.add(value);
        }
        for (const auto value : values_of(*cell, metric))
            within += square(value - own.value());
    }
    const auto freedom = mean.count - static_cast<double>(cells.size());
    effects.rest = 1;
    const auto add = [&](std::vector<std::string> axes, double squares, double degrees, double least, double most) {
        Effect effect{.axes = std::move(axes), .share = whole > 0 ? squares / whole : 0, .least = least, .most = most};
        if (freedom > 0 && within > 0 && degrees > 0)
            effect.chance = chance_of_ratio(squares / degrees / (within / freedom), degrees, freedom);
        effects.rest -= effect.share;
        effects.all.push_back(std::move(effect));
    };
    std::vector<Between> alone;
    for (const auto& axis : study.axes) {
        alone.push_back(between(cells, metric, {axis.key}, mean.value()));
        add({axis.key}, alone.back().squares, static_cast<double>(alone.back().levels) - 1, alone.back().least,
            alone.back().most);
    }
    for (std::size_t i = 0; i < study.axes.size(); ++i)
        for (std::size_t j = i + 1; j < study.axes.size(); ++j) {
            const std::vector<std::string> both{study.axes[i].key, study.axes[j].key};
            const auto together = between(cells, metric, both, mean.value());
            const auto degrees =
                (static_cast<double>(alone[i].levels) - 1) * (static_cast<double>(alone[j].levels) - 1);
            add(both, std::max(0.0, together.squares - alone[i].squares - alone[j].squares), degrees, 0, 0);
        }
    effects.rest = whole > 0 ? std::clamp(effects.rest, 0.0, 1.0) : 0;
    return effects;
}

Effects range(const Study& study, const Metric& metric, std::span<const Cell* const> cells) {
    Effects effects{.kind = Effects::Kind::range};
    double whole = 0;
    for (const auto& axis : study.axes) {
        Effect effect{.axes = {axis.key}, .least = HUGE_VAL, .most = -HUGE_VAL};
        for (const auto* cell : cells)
            if (cell->settings.empty() || cell->value(axis.key) != nullptr) {
                effect.least = std::min(effect.least, cell->metric(metric.name)->mean);
                effect.most = std::max(effect.most, cell->metric(metric.name)->mean);
            }
        if (effect.least > effect.most)
            continue;
        effect.share = effect.most - effect.least;
        whole += effect.share;
        effects.all.push_back(std::move(effect));
    }
    for (auto& effect : effects.all)
        effect.share = whole > 0 ? effect.share / whole : 0;
    return effects;
}

/// Ranks from 1, the mean of those that are equal.
std::vector<double> ranks(const std::vector<double>& values) {
    std::vector<double> all;
    for (const auto value : values) {
        const auto below = std::ranges::count_if(values, [&](double other) { return other < value; });
        const auto equal = std::ranges::count(values, value);
        all.push_back(static_cast<double>(below) + (static_cast<double>(equal) + 1) / 2);
    }
    return all;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
    Mean mean_a, mean_b;
    for (std::size_t i = 0; i < a.size(); ++i) {
        mean_a.add(a[i]);
        mean_b.add(b[i]);
    }
    double both = 0, first = 0, second = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        both += (a[i] - mean_a.value()) * (b[i] - mean_b.value());
        first += square(a[i] - mean_a.value());
        second += square(b[i] - mean_b.value());
    }
    return first > 0 && second > 0 ? both / std::sqrt(first * second) : 0;
}

/// Spearman's, of each axis with the metric.
Effects rank_correlation(const Study& study, const Metric& metric, std::span<const Cell* const> cells) {
    Effects effects{.kind = Effects::Kind::correlation};
    std::vector<double> results;
    for (const auto* cell : cells)
        results.push_back(cell->metric(metric.name)->mean);
    for (const auto& axis : study.axes) {
        std::vector<double> places;
        for (const auto* cell : cells)
            places.push_back(coordinate(axis, *cell->value(axis.key)));
        effects.all.push_back({.axes = {axis.key}, .share = square(correlation(ranks(places), ranks(results)))});
    }
    return effects;
}

} // namespace

Effects effects_of(const Study& study, const Metric& metric, std::span<const Cell> cells) {
    std::vector<const Cell*> usable;
    for (const auto& cell : cells)
        if (cell.round == 0 && cell.metric(metric.name) != nullptr)
            usable.push_back(&cell);
    Effects effects;
    const auto whole = count_of_design(study) / study.repetitions;
    if (study.design == Design::grid && static_cast<double>(usable.size()) < whole) {
        effects.why_not = fmt::format("{:.0f} of {:.0f} places of the grid have no value",
                                      whole - static_cast<double>(usable.size()), whole);
        return effects;
    }
    if (usable.size() < 2) {
        effects.why_not = "fewer than two places have a value";
        return effects;
    }
    effects = study.design == Design::grid            ? variance(study, metric, usable)
              : study.design == Design::one_at_a_time ? range(study, metric, usable)
                                                      : rank_correlation(study, metric, usable);
    std::ranges::stable_sort(effects.all, std::ranges::greater{}, &Effect::share);
    return effects;
}

} // namespace study

// Points that differ in their seeds alone, put together: what a metric is at one place of the study, with its spread.
#pragma once

#include "testbench/study/outcome.h"
#include "testbench/study/statistics.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace study {

struct Cell {
    Settings settings{};
    unsigned round = 0;
    std::vector<const Outcome*> outcomes{}; ///< all of them, failed ones, too
    std::map<std::string, Summary, std::less<>>
        metrics{}; ///< of those that are done; a metric that none has is missing

    const Summary* metric(std::string_view name) const;
    /// The value of a key here, or null.
    const std::string* value(std::string_view key) const;
};

/// In the order in which they were first planned.
std::vector<Cell> cells_of(const Study& study, std::span<const Outcome> outcomes);

/// Whether the constraints of metrics hold there.
bool is_feasible(const Study& study, const Cell& cell);

/// Cells along one axis, with the same values of all others.
struct Curve {
    Settings others{};
    struct Place {
        std::string value{};
        double at = 0; ///< coordinate
        Summary metric{};
        const Cell* cell = nullptr;
    };
    std::vector<Place> places{}; ///< ascending; those that have the metric
};
std::vector<Curve> curves_along(const Axis& axis, std::string_view metric, std::span<const Cell> cells);

} // namespace study

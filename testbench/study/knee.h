// The knee of a curve: the last place at which a metric is as good as it has been, and the first at which it is not.
#pragma once

#include "testbench/study/cells.h"

#include <optional>
#include <vector>

namespace study {

struct Knee {
    Settings others{};              ///< of the curve
    std::string before{}, behind{}; ///< values of the axis
    double from = 0, to = 0;        ///< their coordinates
    double best = 0;                ///< of the metric, before it
    double worse = 0;               ///< behind it
    double last = 0;                ///< at the end of the curve
};

/// The first interval behind which the metric is worse by `drop` of the best value before it; nothing: it never is.
std::optional<Knee> find_knee(const Curve& curve, double drop, bool is_more_better);

/// Of each curve of the study's refinement; of one without a knee there is nothing.
std::vector<Knee> knees_of(const Study& study, std::span<const Cell> cells);

} // namespace study

// Studies and outcomes as tests of rooms of a study need them.
#pragma once

#include "testbench/study/outcome.h"
#include "testbench/study/study.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace made {

/// An axis of whole numbers.
inline study::Axis axis(std::string key, std::vector<int> values,
                        study::Spacing spacing = study::Spacing::logarithmic) {
    study::Axis axis{.key = std::move(key), .spacing = spacing, .kind = platform::topology::Kind::integer};
    for (const auto value : values)
        axis.values.push_back(fmt::to_string(value));
    axis.from = values.front();
    axis.to = values.back();
    return axis;
}

/// With the metric "m" (more is better) and "n" (less is better).
inline study::Study study(std::vector<study::Axis> axes) {
    study::Study study;
    study.axes = std::move(axes);
    study.metrics = {{.name = "m", .value = "m", .is_more_better = true}, {.name = "n", .value = "n"}};
    return study;
}

inline study::Outcome outcome(study::Point point, double m, double n = 0) {
    study::Outcome made{.point = std::move(point)};
    made.metrics = {{"m", m}, {"n", n}};
    return made;
}

} // namespace made

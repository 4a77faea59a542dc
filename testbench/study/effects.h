// How much of a metric's variation each axis makes by itself, and each two of them together: the sums of squares of a
// full grid (analysis of variance, fixed effects). Of other designs what can be said: the range along an axis, or how
// well the metric goes up and down with it.
#pragma once

#include "testbench/study/cells.h"

#include <optional>
#include <string>
#include <vector>

namespace study {

struct Effect {
    std::vector<std::string> axes{}; ///< one: a main effect; two: their interaction
    double share = 0;           ///< of the whole variation, in 0 to 1; of a drawn design the squared rank correlation
    double least = 0, most = 0; ///< means of the axis's values; of an interaction 0
    std::optional<double> chance{}; ///< that seeds alone do as much; nothing: there is one repetition, or no spread
};

struct Effects {
    enum class Kind : std::uint8_t { variance, range, correlation } kind = Kind::variance;
    std::vector<Effect> all{}; ///< largest first
    double rest = 0;           ///< share of the seeds, and of interactions of three and more axes
    std::string why_not{};     ///< nothing can be said: "3 of 12 places have no value"
};

/// Of the places that the design itself has, without those of refinement.
Effects effects_of(const Study& study, const Metric& metric, std::span<const Cell> cells);

} // namespace study

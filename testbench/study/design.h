// Which points a study begins with: all combinations, each axis by itself, or some that are drawn so that they lie
// apart in every axis.
#pragma once

#include "testbench/study/study.h"

#include <optional>
#include <string>
#include <vector>

namespace study {

/// Settings without repetitions, in a fixed order; those that a constraint of keys excludes are left out. Of "one at a
/// time" the first is the base itself, without settings.
std::vector<Settings> first_round(const Study& study);

/// How many there are before constraints: a number that may be larger than what fits into memory.
double count_of_design(const Study& study);

/// Whether the constraints of keys allow these settings; a key that is not set there is not looked at.
bool is_allowed(const Study& study, const Settings& settings);

/// Why these settings are those of no point of the study: an axis is missing or there twice, or has a value that is
/// none of its key. Nothing: they may be.
std::optional<std::string> fault_of(const Study& study, const Settings& settings);

} // namespace study

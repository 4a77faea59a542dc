// Whether a study's points can run, as `hcasim check` says it of one configuration. Reads configurations, runs nothing.
#pragma once

#include "testbench/study/read_study.h"

#include <expected>
#include <string>

namespace hcasim {

/// Whether each value of each axis can run with the base, or else at one of the first points that have it. The error
/// has a line for each axis with a value that can run nowhere. Of values that contradict each other at some points
/// only, those points are recorded with the reason.
std::expected<void, std::string> check_values(const study::ReadStudy& read);

} // namespace hcasim

// Whether a study can be begun: its parts fit together, and each value of each axis is one that the platform takes.
#pragma once

#include "platform/topology/config.h"
#include "testbench/study/study.h"
#include "testbench/study/written_table.h"

#include <expected>
#include <string>

namespace study {

/// Names that nothing has, constraints that leave nothing, a refinement that cannot be. Opens nothing.
void check(const Study& study, Faults& faults);

/// Reads the base with the keys of [set], and tries each value of each axis by itself: what is refused is noted with
/// the line of the axis. The error is one of the base itself. Values that are good alone may still contradict each
/// other at a point, which is then recorded with the reason.
std::expected<platform::topology::Config, std::string> check_base(const Study& study, Faults& faults);

} // namespace study

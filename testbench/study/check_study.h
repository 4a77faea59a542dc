// Whether a study can be begun: its parts fit together, and each value of each axis is one that the platform takes.
#pragma once

#include "platform/topology/config.h"
#include "testbench/study/study.h"
#include "testbench/study/written_table.h"

#include <expected>
#include <functional>
#include <string>

namespace study {

/// Names that nothing has, constraints that leave nothing, a refinement that cannot be. Opens nothing.
void check(const Study& study, Faults& faults);

/// Reads the base with the keys of [set], and tries each value of each axis by itself, and, where it is refused, at the
/// points that have it: what none of them takes is noted with the line of the axis. The error is one of the base
/// itself. Values that contradict each other at a point are recorded there with the reason.
std::expected<platform::topology::Config, std::string> check_base(const Study& study, Faults& faults);

/// Whether one of the first points of the design that have this value of an axis is taken, with all its settings. True
/// of a value that no point of it has, as those that are drawn, and of one that too many points have to try them all.
bool may_be_at_some_point(const Study& study, const Axis& axis, const std::string& value,
                          const std::function<bool(const Settings&)>& is_taken);

} // namespace study

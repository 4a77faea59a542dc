// Places that no other one beats: better in one objective means worse in another.
#pragma once

#include "testbench/study/cells.h"

#include <vector>

namespace study {

/// Of the cells that have every objective and are feasible, in their order. Of equal ones all.
std::vector<const Cell*> pareto_front(const Study& study, std::span<const Cell> cells);

} // namespace study

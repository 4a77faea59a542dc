// Where each metric of a study is best and worst, in words: what is equal is not called better, and places that break a
// constraint are left out, which is said.
#pragma once

#include "testbench/study/cells.h"
#include "testbench/study/study.h"

#include <span>
#include <string>
#include <vector>

namespace study {

/// A sentence for the constraints of metrics, where there are some, and one for each metric that has values.
void add_best(const Study& study, std::span<const Cell> cells, std::vector<std::string>& said);

} // namespace study

// An axis as it is written: a list, a range, or a range on a logarithmic scale, of a key of the platform.
#pragma once

#include "testbench/study/study.h"
#include "testbench/study/written_table.h"

#include <toml++/toml.h>

namespace study {

/// Of [[axes]]. Mistakes are noted.
Axis read_axis(const toml::table& table, Faults& faults);

} // namespace study

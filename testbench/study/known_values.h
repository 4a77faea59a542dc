// What results can have by name: result.schema.json, which the program holds, and the names of events. What a name
// says of a thing ("WRITE A -> B") is known when the run is over, and not looked at.
#pragma once

#include "testbench/study/study.h"
#include "testbench/study/written_table.h"

#include <optional>
#include <string>
#include <string_view>

namespace study {

/// Why no result has a number of that name, as [[metrics]] has it: "no result has a number 'sim_time', did you mean
/// 'sim_time_ns'?". Nothing: there are results that have it.
std::optional<std::string> why_unknown(std::string_view value);

/// Notes each metric that no result can have, with its line.
void check_metrics(const Study& study, Faults& faults);

} // namespace study

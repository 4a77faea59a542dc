// What a run has said, as the outcome of a point: its metrics, or the reason why it has none.
#pragma once

#include "testbench/study/commands.h"
#include "testbench/study/outcome.h"

#include <string>
#include <vector>

namespace study {

/// `hcasim run BASE --set ... --json - --quiet`: what a point is, and what a person calls to see it again.
std::vector<std::string> command_of(const Study& study, const Point& point, const std::string& program);

Outcome outcome_of(const Study& study, const Point& point, const Ended& ended);

/// Whether the point ended well, and its result has not a number that a metric is made of: a mistake of the study.
bool lacks_number(const Outcome& outcome);

/// The result without what depends on the machine: the wall's time and paths. Throws where it is no JSON.
std::string without_machine(const std::string& result);

} // namespace study

// Runs what the plan asks for and is not there yet, a process a point, and puts each result into the store.
#pragma once

#include "testbench/study/engine.h"
#include "testbench/study/store.h"
#include "testbench/study/study.h"

#include <cstddef>
#include <functional>
#include <string>

namespace study {

struct Progress {
    std::size_t done = 0, planned = 0; ///< points; refinement plans more as it goes
    std::size_t failed = 0;
    double seconds_left = 0; ///< of wall time, for what is planned; 0: nothing is known
};

struct RunnerSetup {
    std::string program{};                                                      ///< path of this program
    Engine& engine;                                                             ///< where points are run
    std::function<bool()> goes_on;                                              ///< asked before each point
    std::function<void(const Outcome& outcome, const Progress& progress)> told; ///< after each point
};

/// Returns why the sweep has ended by its plan, which the store then knows; empty: it was asked to stop before. Throws
/// std::runtime_error where the file or the system fails.
std::string run(const Study& study, Store& store, const RunnerSetup& setup);

} // namespace study

// Which points come next. A pure function of the study and of what became of the points before: a sweep that was killed
// comes to the same points as one that was not, however many run at the same time.
#pragma once

#include "testbench/study/outcome.h"

#include <span>
#include <string>
#include <vector>

namespace study {

struct Batch {
    std::vector<Point> points{}; ///< with numbers that follow those before; none: the sweep is at its end
    std::string end{};           ///< then why: "the design is complete"
};

/// `done` are the outcomes of all points of the batches before, by number.
Batch next_batch(const Study& study, std::span<const Outcome> done);

} // namespace study

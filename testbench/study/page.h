// The page of a study: one HTML file that holds its numbers, what draws them, and nothing from elsewhere.
#pragma once

#include "testbench/study/outcome.h"
#include "testbench/study/store.h"

#include <span>
#include <string>
#include <string_view>

namespace study {

struct PageFacts {
    const Study& study;
    const Origin& origin;
    std::span<const Outcome> outcomes;
    std::string end{};      ///< why the sweep has ended; empty: it has not
    std::string digest{};   ///< of the results
    std::string topology{}; ///< the base as SVG; empty: it cannot be drawn any more
};

/// What the page's script reads: one JSON object.
std::string page_data(const PageFacts& facts);
std::string print_page(const PageFacts& facts);

/// A file that the program holds: of the page "page.html", "page.css", "page.js", "d3.min.js", and what results can
/// have, "result.schema.json".
std::string page_part(std::string_view name);

} // namespace study

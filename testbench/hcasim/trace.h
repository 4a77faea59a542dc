// `hcasim trace`: what a recording says. Each of its commands has its options beside what it does with them.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace hcasim {

/// What the command line asked of a recording; returns the status.
struct TraceJob {
    std::function<int()> run;
};

/// Adds `trace` with its commands to the program's; the one that the command line names becomes `job`, which lives as
/// long as `app`.
CLI::App* add_trace(CLI::App& app, TraceJob& job);

} // namespace hcasim

// Runs of races, each in a process of its own (explore_processes.h). What a run found comes back as lines of text.
#pragma once

#include "platform/topology/config.h"
#include "testbench/hcasim/explore_processes.h"
#include "testbench/scenario/race.h"

#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hcasim {

/// A run to be done.
struct Task {
    scenario::race::Setup setup;
    std::size_t variant = 0; ///< of the exploration's
};

/// What the child says: a line for each fact.
std::string print_outcome(const scenario::race::Outcome& outcome);
/// Nothing when the text does not come to its end.
std::optional<scenario::race::Outcome> parse_outcome(std::string_view text);

class Pool {
public:
    /// `configs` has that of each variant. Monitored runs are recorded, and held against the rules (traces/monitor).
    Pool(std::span<const platform::topology::Config> configs, unsigned jobs, bool is_monitored = false)
        : configs_(configs), is_monitored_(is_monitored), processes_(jobs) {}

    using Done = std::function<void(const Task&, const scenario::race::Outcome&)>;
    void run(std::span<const Task> tasks, const Done& done);
    /// One of them again, recorded into a file. The error is one line: it cannot be.
    std::expected<scenario::race::Outcome, std::string> record(const Task& task, const std::string& path);

private:
    scenario::race::Outcome run_one(const Task& task) const;

    std::span<const platform::topology::Config> configs_;
    bool is_monitored_;
    Processes processes_;
};

} // namespace hcasim

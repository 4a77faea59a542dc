// Runs of races, each in a process of its own, several at a time. What a run found comes back by a pipe.
#pragma once

#include "platform/topology/config.h"
#include "testbench/scenario/race.h"

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
    /// `configs` has that of each variant.
    Pool(std::span<const platform::topology::Config> configs, unsigned jobs) : configs_(configs), jobs_(jobs) {}

    using Done = std::function<void(const Task&, const scenario::race::Outcome&)>;
    void run(std::span<const Task> tasks, const Done& done);

private:
    struct Child {
        pid_t process = -1;
        int pipe = -1;
        Task task{};
        std::string said{};
    };
    void start(const Task& task);
    void listen(const Done& done);
    static scenario::race::Outcome end(const Child& child);

    std::span<const platform::topology::Config> configs_;
    unsigned jobs_;
    std::vector<Child> children_;
};

} // namespace hcasim

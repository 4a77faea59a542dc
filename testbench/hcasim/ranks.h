// A run in several processes: how many there are, how they are started, and how what each has seen becomes one result.
#pragma once

#include "platform/observe/count/counters.h"
#include "platform/observe/count/digests.h"
#include "platform/observe/count/queues.h"
#include "platform/observe/event.h"
#include "platform/ranks/exchange.h"
#include "testbench/hcasim/command_line.h"
#include "testbench/scenario/registry.h"

#include <expected>
#include <string>

namespace hcasim {

/// How many processes a run has: those that mpirun has started, or as many as are asked for. The error is one line: the
/// two contradict each other, or this program knows no MPI.
std::expected<unsigned, std::string> count_processes(const RunOptions& options);

/// Whether somebody has still to start them.
bool are_to_be_started(unsigned processes);

/// Has mpirun start this program so often with the same arguments, and waits for the end. Returns the status that this
/// program ends with; what the processes have not said of it is said.
int start(const RunOptions& options, unsigned processes);

/// Whether a run can be spread: its scenario, and what is to look on. The error is one line.
std::expected<void, std::string> may_be_spread(const RunOptions& options, const scenario::Scenario& scenario,
                                               unsigned processes);

/// Whether all processes have come so far that the run can begin. One that has not ends the others, too: nobody waits
/// for it.
class Readiness {
public:
    /// nullptr: there is one process.
    explicit Readiness(platform::ranks::Exchange* exchange) : exchange_(exchange) {}
    Readiness(const Readiness&) = delete;
    Readiness& operator=(const Readiness&) = delete;
    ~Readiness() { (void)agree(false); }
    /// This process is ready. Returns whether all are.
    bool are_all_ready() { return agree(true); }

private:
    bool agree(bool is_ready);
    platform::ranks::Exchange* exchange_;
};

/// What the sinks of a process have seen.
struct Seen {
    platform::observe::count::Digests& digests;
    platform::observe::count::Counters& counters;
    platform::observe::count::QueueReport& queues;
};

/// Gives process 0 what the sinks of all have seen. All call it, once.
void gather(platform::ranks::Exchange& exchange, const platform::observe::Sources& sources, const Seen& seen);

} // namespace hcasim

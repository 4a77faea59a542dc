// What a platform has counted, as rows of a Result.
#pragma once

#include "platform/observe/files/capture.h"
#include "platform/ranks/partition.h"
#include "platform/topology/platform_module.h"
#include "testbench/scenario/result.h"

#include <cstddef>
#include <vector>

namespace scenario {

/// Sums over all HCAs, cables and switches, at one moment.
struct Totals {
    std::uint64_t packets = 0, retries = 0, timeouts = 0, rnr_waits = 0, naks = 0, duplicates = 0, dropped = 0;
    std::uint64_t completions_ok = 0, completions_error = 0;
    std::uint64_t marked = 0, cnps = 0; ///< packets that switches have marked, and what senders heard of it
    std::uint64_t window_cuts = 0;      ///< congestion windows became smaller
    std::uint64_t window_waited_ps = 0; ///< queue pairs waited for theirs, all of them together
    std::uint64_t round_trips = 0, round_trips_ps = 0; ///< that cards have measured for them; their sum
    std::uint64_t pauses = 0, switch_drops = 0;        ///< frames of priority flow control; packets without room or way
};
/// Calls visit(member) for each of them.
template <class Visit> void for_each_total(Visit&& visit) {
    for (const auto member :
         {&Totals::packets, &Totals::retries, &Totals::timeouts, &Totals::rnr_waits, &Totals::naks, &Totals::duplicates,
          &Totals::dropped, &Totals::completions_ok, &Totals::completions_error, &Totals::marked, &Totals::cnps,
          &Totals::window_cuts, &Totals::window_waited_ps, &Totals::round_trips, &Totals::round_trips_ps,
          &Totals::pauses, &Totals::switch_drops})
        visit(member);
}
/// Adds what was counted between two moments.
void add_between(const Totals& begin, const Totals& end, Totals& sum);
Totals totals(platform::topology::Platform& platform);

/// Payload that cards have moved, by where it was, in bytes.
struct MovedPayload {
    std::uint64_t peer = 0, redirected = 0, host_dram = 0;
    MovedPayload& operator+=(const MovedPayload& other);
    MovedPayload operator-(const MovedPayload& other) const;
    /// Instead of what `count` found over the whole run.
    void show(Result& result) const;
};
/// Of all cards of a host, until now.
MovedPayload moved_payload(const platform::topology::Machine& machine);
/// Of all cards of all hosts.
MovedPayload moved_payload(platform::topology::Platform& platform);

/// Fills everything of `result` that comes from counters: totals, payload by kind of memory, links, caches, resources
/// of devices, cable. A stale mapping that was used is a failure, unless there was one before.
void count(platform::topology::Platform& platform, Result& result);

/// Rows of one host, or of one end of a cable, in the order in which count() has them.
struct CountedGroup {
    std::size_t number = 0;
    Result rows{};
};
/// The same of what is here, in groups, so that those of several processes can be put in order.
std::vector<CountedGroup> count_groups(platform::topology::Platform& platform, const platform::ranks::Share& here);
/// Rows of `group` behind those that are there.
void append_rows(Result& result, CountedGroup&& group);
/// What count() sums up.
void count_sums(platform::topology::Platform& platform, Result& result);

/// Every cable of the platform into the capture, each as an interface of its name; of the pair the one at host A.
void tap(platform::topology::Platform& platform, platform::observe::files::Capture& capture);

} // namespace scenario

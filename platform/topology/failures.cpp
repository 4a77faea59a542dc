#include "platform/topology/failures.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace platform::topology {

using model::port::Time;

Failures::Failures(const Description& platform, Time reroute, model::port::Clock& clock, Reroute on_reroute)
    : platform_(platform), reroute_(reroute), clock_(clock), on_reroute_(std::move(on_reroute)) {}

std::vector<Failures::Change> Failures::begin(Time origin) {
    std::map<std::pair<std::size_t, Time>, int>
        steps; // by cable and time: how many failures begin, less those that end
    for (const auto& failure : platform_.failures)
        for (const auto cable : failure.cables) {
            ++steps[{cable, origin + failure.at}];
            if (failure.until)
                --steps[{cable, origin + *failure.until}];
        }
    int broken_by = 0;
    for (auto at = steps.begin(); at != steps.end(); ++at) {
        const auto& [cable, time] = at->first;
        if (at == steps.begin() || std::prev(at)->first.first != cable)
            broken_by = 0;
        const bool was_broken = broken_by != 0;
        broken_by += at->second;
        if (const bool is_broken = broken_by != 0; is_broken != was_broken)
            changes_.push_back({cable, is_broken, time});
    }
    std::ranges::stable_sort(changes_, {}, &Change::at);
    for (const auto& change : changes_)
        if (sweeps_.empty() || sweeps_.back() != change.at + reroute_)
            sweeps_.push_back(change.at + reroute_);
    if (!sweeps_.empty())
        clock_.wake_at(sweeps_.front());
    return changes_;
}

void Failures::wake(Time now) {
    if (next_sweep_ == sweeps_.size() || sweeps_[next_sweep_] > now)
        return;
    while (next_sweep_ != sweeps_.size() && sweeps_[next_sweep_] <= now)
        ++next_sweep_;
    std::vector<bool> is_dead(platform_.cables.size());
    for (const auto& change : changes_)
        if (change.at <= now)
            is_dead[change.cable] = change.is_broken;
    on_reroute_(is_dead);
    if (next_sweep_ != sweeps_.size())
        clock_.wake_at(sweeps_[next_sweep_]);
}

} // namespace platform::topology

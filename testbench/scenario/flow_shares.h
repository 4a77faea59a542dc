// What each flow gets in each interval of the measured time, where flows join and leave; and how long those that are
// there take to share equally.
#pragma once

#include "model/port/time.h"
#include "testbench/load/plan.h"
#include "testbench/scenario/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace scenario {

/// Jain's index of what they got, in 1/n to 1; 0 of nothing.
double jain(std::span<const std::uint64_t> bytes);

class FlowShares {
public:
    /// Since the begin of the load.
    struct Span {
        model::port::Time begin{}, end{};
    };
    /// More than so many flows are not followed: nothing is kept of them.
    static constexpr std::size_t most_flows = 1024;

    explicit FlowShares(const std::vector<load::Flow>& flows);

    void add(std::size_t flow, std::uint64_t bytes) {
        if (flow < part_.size())
            part_[flow] += bytes;
    }
    /// An interval ends.
    void cut();
    /// Of each two intervals one.
    void join_pairs();

    /// Of interval `number`, those flows that were there from its begin to its end. Nothing: none was.
    std::optional<Shares> in(std::size_t number, Span span) const;
    /// From when the last flow has joined, or the begin of the first interval if that is later, to the begin of the
    /// first interval from which on each of at least two flows has had an equal share, to 10 %, until one leaves or the
    /// intervals end. `spans` has them all. Nothing: in the last one they had not, or there is none.
    std::optional<model::port::Time> settled(std::span<const Span> spans) const;

private:
    std::vector<std::uint64_t> gather(std::size_t number, Span span) const;

    const std::vector<load::Flow>& flows_;
    std::vector<std::uint64_t> part_;               ///< bytes, by flow; empty: they are not followed
    std::vector<std::vector<std::uint64_t>> parts_; ///< of the intervals that have ended
};

} // namespace scenario

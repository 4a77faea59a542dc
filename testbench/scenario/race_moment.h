// When something gets in the way of a transfer, in a race of any subject: the actions wait for their point among the
// events of the run, begin there together, each in a thread of its own, and come to their end. Keeps where in the log
// of events that was, and counts the transfer's accesses before and after.
#pragma once

#include "testbench/harness/test_ports.h"
#include "testbench/scenario/race.h"

#include <systemc>

#include <cstddef>
#include <functional>

namespace scenario::race {

class Moment {
public:
    /// Does one action, in a thread of its own; what it throws is a violation.
    using Perform = std::function<void(const Action& action)>;
    /// `log` has the events of the run.
    Moment(harness::EventLog& log, const Setup& setup, Outcome& outcome)
        : log_(log), setup_(setup), outcome_(outcome) {}
    Moment(const Moment&) = delete;
    Moment& operator=(const Moment&) = delete;

    /// The transfer is posted next, and points count from here on.
    void open(Perform perform);
    /// It has been waited for: what comes from now on is no point of it.
    void close();
    /// What has begun comes to its end; what has not is called off.
    void settle();
    /// The memory is somebody else's, which is the end of the first action.
    void note_end() {
        if (end_ == 0)
            end_ = log_.entries.size();
    }
    bool is_over() const { return acting_ != 0 && finished_ == acting_; } ///< each action has returned

    // Places in the log: the first event of the run, the first after the actions' begin, the first after the end of one
    // of them, and the first after all points. Zero: there was none.
    std::size_t first() const { return first_; }
    std::size_t begun() const { return begin_; }
    std::size_t ended() const { return end_; }
    std::size_t last() const { return last_; }
    /// Counts accesses to the memory, those of events of which `is_touch(stamp, event)` says so.
    template <class IsTouch> void measure(IsTouch&& is_touch) {
        name_point();
        auto& touches = outcome_.touches;
        for (auto i = first_; i != last_; ++i) {
            const auto& [stamp, event] = log_.entries[i];
            if (!is_touch(stamp, event))
                continue;
            touches.last = i - first_;
            touches.first = touches.count++ == 0 ? touches.last : touches.first;
            outcome_.touched += i < begin_;
            outcome_.touched_at_end += i < end_;
        }
    }

private:
    void act(const Action& action);
    void name_point();

    harness::EventLog& log_;
    const Setup& setup_;
    Outcome& outcome_;
    Perform perform_;
    sc_core::sc_event go_, done_;
    unsigned acting_ = 0, finished_ = 0;
    bool is_called_off_ = false;
    std::size_t first_ = 0, begin_ = 0, end_ = 0, last_ = 0;
};

} // namespace scenario::race

// One clock for two parts of a device. One part may be woken at any time; the other may not, and asks for its wakes
// through an alarm, which says whether a wake of the device is meant for it.
#pragma once

#include "model/port/clock.h"

namespace model::port {

class Alarm final : public Clock {
public:
    explicit Alarm(Clock& clock) : clock_(clock) {}

    Time now() const override { return clock_.now(); }
    void wake_at(Time at) override {
        if (at >= next_)
            return;
        next_ = at;
        clock_.wake_at(at);
    }
    /// The device is woken. True: the time asked for here has come, and is forgotten. Otherwise the clock is asked
    /// again, since it keeps only the earliest time.
    bool rings(Time now) {
        if (next_ == never)
            return false;
        if (next_ > now) {
            clock_.wake_at(next_);
            return false;
        }
        next_ = never;
        return true;
    }

private:
    Clock& clock_;
    Time next_ = never; ///< the earliest time asked for
};

} // namespace model::port

// Lets a process of the kernel wait for a time, by the agenda: of several that wait for one time the order depends on
// the order of their alarms only, while that of the kernel's time-outs depends on all that it has.
#pragma once

#include "model/tlm/kernel_clock.h"
#include "model/tlm/time.h"

#include <systemc>

namespace model::tlm {

class Alarm {
public:
    Alarm() : clock_([this](port::Time now) { ring(now); }) {}
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

    /// Lets the calling process, a thread, wait until `at`. One process at a time.
    void wait_until(port::Time at) {
        set(at);
        sc_core::wait(event_);
        wanted_ = port::never;
    }
    /// The same, or until `other` is notified.
    void wait_until(port::Time at, const sc_core::sc_event& other) {
        if (other_ != &other) {
            other_ = &other;
            sc_core::sc_event_or_list both;
            both |= event_;
            both |= other;
            either_.swap(both);
        }
        set(at);
        sc_core::wait(either_);
        wanted_ = port::never;
    }

private:
    void set(port::Time at) {
        wanted_ = at;
        if (at != port::never)
            clock_.wake_at(at);
    }
    void ring(port::Time now) {
        if (now >= wanted_)
            notify_at_once(event_);
        else if (wanted_ != port::never) // who waited before was woken by the other event, and asked for less
            clock_.wake_at(wanted_);
    }

    KernelClock clock_;
    sc_core::sc_event event_;
    port::Time wanted_ = port::never;
    const sc_core::sc_event* other_ = nullptr;
    sc_core::sc_event_or_list either_; ///< event_ and other_
};

} // namespace model::tlm

// Simulated time between cores (picoseconds) and the kernel (sc_time at its default resolution of a picosecond).
#pragma once

#include "model/port/time.h"

#include <systemc>

#include <algorithm>

namespace model::tlm {

inline port::Time from_sc(const sc_core::sc_time& t) { return port::Time{static_cast<std::int64_t>(t.value())}; }
inline sc_core::sc_time to_sc(port::Time t) {
    return sc_core::sc_time::from_value(t.count() > 0 ? static_cast<sc_dt::uint64>(t.count()) : 0);
}

/// What time it is for those whom the agenda calls. It may be ahead of the kernel's own time, as long as the kernel has
/// nothing to do in between (agenda.h).
inline port::Time agenda_time{};

/// What the agenda has asked the kernel, and keeps while it calls: nothing of the kernel runs meanwhile.
struct KernelSeen {
    bool is_valid = false;         ///< the agenda calls, and agenda_time is the present time
    port::Time now{};              ///< of the kernel
    port::Time next = port::never; ///< when it has something to do
    bool has_changed = true;       ///< `next` has to be asked again
};
inline KernelSeen kernel_seen;

inline port::Time kernel_now() {
    return kernel_seen.is_valid ? agenda_time : std::max(agenda_time, from_sc(sc_core::sc_time_stamp()));
}

inline bool is_ahead_of_kernel() {
    return agenda_time > (kernel_seen.is_valid ? kernel_seen.now : from_sc(sc_core::sc_time_stamp()));
}
/// Notifies `event` when the kernel has come to the agenda's time, which it then does at once.
void notify_when_there(sc_core::sc_event& event, bool at_once);

/// `event` fires now, in the next delta. What the agenda may call notifies by this, or by one of the next two.
inline void notify_now(sc_core::sc_event& event) {
    if (is_ahead_of_kernel())
        return notify_when_there(event, false);
    event.notify(sc_core::SC_ZERO_TIME);
}
/// The same within the present evaluation.
inline void notify_at_once(sc_core::sc_event& event) {
    if (is_ahead_of_kernel())
        return notify_when_there(event, true);
    event.notify();
}
inline void notify_at(sc_core::sc_event& event, port::Time at) {
    if (at <= kernel_now())
        return notify_now(event);
    event.notify(to_sc(at - from_sc(sc_core::sc_time_stamp())));
    kernel_seen.has_changed = true;
}

} // namespace model::tlm

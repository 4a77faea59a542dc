// Simulated time between cores (picoseconds) and the kernel (sc_time at its default resolution of a picosecond).
#pragma once

#include "model/port/time.h"

#include <systemc>

namespace model::tlm {

inline port::Time from_sc(const sc_core::sc_time& t) { return port::Time{static_cast<std::int64_t>(t.value())}; }
inline sc_core::sc_time to_sc(port::Time t) {
    return sc_core::sc_time::from_value(t.count() > 0 ? static_cast<sc_dt::uint64>(t.count()) : 0);
}
inline port::Time kernel_now() { return from_sc(sc_core::sc_time_stamp()); }

} // namespace model::tlm

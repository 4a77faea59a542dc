// How long a packet may be at the head of a queue of an InfiniBand switch port (IBA 14.2.5.6 PortInfo, 18.2.5.4), until
// a subnet manager sets something else.
#pragma once

#include "model/port/time.h"

#include <cstdint>

namespace model::net {

struct LifetimeConfig {
    static constexpr std::uint8_t largest = 19; ///< of HOQLife; what is more is without end
    /// HOQLife: 4.096 us << this. The default is what opensm sets (head_of_queue_lifetime).
    std::uint8_t hoq_life = 18;
    /// VLStallCount: packets in a row that were discarded for their age before the lane stalls. Zero is undefined there
    /// (opensm.conf, vl_stall_count); here such a lane never stalls.
    std::uint8_t vl_stall_count = 7;

    /// port::never: without end.
    port::Time life() const {
        return hoq_life > largest ? port::never
                                  : port::Time{std::chrono::nanoseconds{4096}} * (std::int64_t{1} << hoq_life);
    }
    /// How long a lane stays stalled.
    port::Time stall() const { return 8 * life(); }
    bool operator==(const LifetimeConfig&) const = default;
};

} // namespace model::net

// The packet buffer that all ports of an Ethernet switch share, as its configuration has it: when it drops, marks and
// pauses. Sizes in bytes of frames.
#pragma once

#include <cstdint>

namespace model::net {

struct SharedBufferConfig {
    std::uint64_t bytes = 16 << 20; ///< of all ports
    /// A queue may have so many times what is still free: dynamic thresholds (Choudhury, Hahne, "Dynamic Queue Length
    /// Thresholds for Shared-Memory Packet Switches", IEEE/ACM ToN 6(2), 1998).
    double alpha = 1;
    /// Priority flow control (IEEE 802.1Q clause 36), of all priorities: nothing is lost as long as the headroom is
    /// enough. Off: what finds no room is dropped.
    bool has_pfc = true;
    std::uint64_t headroom = 128 << 10; ///< of each port, for what comes after it has asked to pause
    /// Marking (RFC 3168; RED): of packets that can be marked, none while a queue is no longer than `ecn_min`, all from
    /// `ecn_max` on, between them with a probability that grows to `ecn_probability`.
    bool has_ecn = false;
    std::uint64_t ecn_min = 400 << 10, ecn_max = 1600 << 10;
    double ecn_probability = 0.2;
    std::uint64_t seed = 1; ///< of marks
    bool operator==(const SharedBufferConfig&) const = default;
};

} // namespace model::net

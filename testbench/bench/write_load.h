// The measured load: RDMA WRITEs from the VRAM of one host to the VRAM of the other, through the whole platform, posted
// and polled by the driver stack. One thread drives both hosts.
#pragma once

#include "testbench/bench/room_cost.h"

#include <cstdint>

namespace platform::record {
class Recording;
}

namespace bench {

struct Load {
    std::uint32_t message_bytes = 8;
    std::uint32_t depth = 64; ///< messages a queue pair has under way; posted as one list
    std::uint32_t queue_pairs = 1;
    bool timed = false;
    double seconds = 0.5;                             ///< wall time of one sample
    unsigned samples = 5;                             ///< the median counts
    bool is_all_different = false;                    ///< no two messages have the same bytes
    platform::record::Recording* recording = nullptr; ///< of all devices; nullptr: nothing is recorded
};

/// What a load reached. Rates are per second of wall time.
struct Measured {
    double messages_per_s = 0;
    double bytes_per_s = 0;
    double memcpy_bytes_per_s = 0; ///< memcpy of the same messages between the same memories, in the same samples
    double over_memcpy = 0;        ///< median of the samples' ratios
    double sim_bytes_per_s = 0;    ///< in simulated time; 0 when that stands still
    double messages = 0;           ///< in all, with those before the samples
    double packets_per_message = 0, acks_per_message = 0; ///< counters of the HCAs
};

/// To be called once in a process. Ends the process with a message when the platform does not work.
Measured measure(const Load& load);
/// The same load with a clock at every room's door.
RoomCosts measure_rooms(const Load& load);

} // namespace bench

// What a simple HCA is built with: its numbers of objects, its memory and its times. Who it is on the fabric is given
// by whoever builds it.
#pragma once

#include "model/port/packet.h"
#include "model/port/time.h"

#include <chrono>
#include <cstdint>

namespace model::simple {

struct SimpleConfig {
    bool timed = true; ///< false: everything that it does takes no time

    std::uint32_t log_max_qp = 13, log_max_cq = 13, log_max_region = 16; ///< log2 of the numbers there are
    std::uint64_t memory_bytes = 64ULL << 20; ///< for all contexts and page tables; there is no other place for them
    std::uint32_t outstanding = 32;           ///< messages under way on a queue pair, which the card keeps
    std::uint32_t pcie_reads = 64;            ///< reads of host memory under way at a time
    std::uint32_t ack_every = 16;             ///< packets of a long message that ask for an acknowledgement

    // A pipeline that works on one message after the other and looks up contexts in its own DRAM for each: assumed.
    port::Time descriptor = std::chrono::nanoseconds{120}; ///< occupancy of the sending unit, a descriptor
    port::Time packet = std::chrono::nanoseconds{40};      ///< occupancy of either unit, a packet
    port::Time latency = std::chrono::nanoseconds{150};    ///< of either unit, beside that
    port::Time command = std::chrono::microseconds{2};     ///< from the write of the command register to its status

    // Identity:
    bool is_ethernet = true;
    port::MacAddress mac{};
    std::uint16_t lid = 0;

    bool operator==(const SimpleConfig&) const = default;
};

// What is the same for all of them.
inline constexpr std::uint32_t log_max_entries = 15; ///< log2 of the descriptors of a ring
inline constexpr std::uint32_t log_max_cq_entries = 22;
inline constexpr std::uint32_t log_max_message = 30; ///< log2 of the bytes of a message
inline constexpr std::uint32_t max_reads = 16;       ///< READs under way on a queue pair, each way

} // namespace model::simple

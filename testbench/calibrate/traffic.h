// A measuring workload: two hosts of a platform exchange messages of one kind through their drivers, as perftest and
// the programs of the publications do. After a warm-up a window of messages is measured in simulated time, and for the
// same window is told which resource of the model was busy for the largest share of it.
#pragma once

#include "platform/topology/config.h"
#include "testbench/calibrate/window.h"

#include <cstdint>
#include <optional>

namespace calibrate {

enum class Verb : std::uint8_t { write, read, send, fetch_add };

/// In which order a core posts on its queue pairs.
enum class Order : std::uint8_t {
    round_robin, ///< one doorbell a queue pair, then the next one
    bursts,      ///< as many as fit on a queue pair, then the next one (what perftest does)
};

struct Traffic {
    Verb verb = Verb::write;
    std::uint32_t bytes = 8; ///< of a message
    bool is_inline = false;
    bool has_blue_flame = false; ///< the WQE goes with the doorbell
    std::uint32_t queue_pairs = 1;
    std::uint32_t depth = 64;       ///< messages under way, a queue pair
    std::uint32_t batch = 1;        ///< WQEs a doorbell
    std::uint32_t signal_every = 1; ///< messages a completion
    std::uint32_t cores = 1;        ///< that post and poll, on each host
    Order order = Order::round_robin;
    std::uint32_t mtu = 4096;
    std::uint8_t reads = 16; ///< READs and atomics under way, a queue pair
    std::uint8_t ack_timeout = 14, retry_count = 7;
    std::uint64_t span = 1 << 20;                  ///< bytes that the messages walk through, on each side
    bool is_random = false;                        ///< at random places of it
    std::uint64_t counters = 1;                    ///< of fetch_add: addresses, chosen at random
    std::uint64_t counter_stride = 8;              ///< bytes from one to the next
    bool is_ping_pong = false;                     ///< a message is answered by one of the other side
    std::uint64_t warm_up = 1000, messages = 4000; ///< of all queue pairs together
};

/// Runs it in a process of its own; nothing: it has failed there, and has said why on standard error.
std::optional<Measured> measure(const platform::topology::Config& config, const Traffic& traffic);

} // namespace calibrate

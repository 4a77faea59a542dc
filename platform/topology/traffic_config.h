// The keys of [traffic]: who sends what to whom in the scenario `traffic`, how fast and for how long. Sizes and verbs
// are texts here; testbench/load reads them. Beside these count scenario.message, .mtu, .queue_depth, .qps and .seed.
#pragma once

#include "model/port/time.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace platform::topology {

/// Which hosts of `from` send to which of `to`.
enum class TrafficPattern : std::uint8_t {
    pairs,       ///< the first to the first, the second to the second
    permutation, ///< each to one that nobody else sends to, drawn
    all_to_all,  ///< each to each, but not to itself
    to_one,      ///< all to the first of `to`
    from_one,    ///< the first of `from` to all
};
inline constexpr std::array<std::string_view, 5> traffic_patterns{"pairs", "permutation", "all_to_all", "to_one",
                                                                  "from_one"};
enum class TrafficDirection : std::uint8_t { one_way, bidirectional, ping_pong };
inline constexpr std::array<std::string_view, 3> traffic_directions{"one_way", "bidirectional", "ping_pong"};
/// In which order a core posts on its queue pairs.
enum class TrafficOrder : std::uint8_t {
    round_robin, ///< one doorbell a queue pair, then the next one
    bursts,      ///< as many as fit on a queue pair, then the next one
};
inline constexpr std::array<std::string_view, 2> traffic_orders{"round_robin", "bursts"};
enum class TrafficMemory : std::uint8_t { host, vram };
inline constexpr std::array<std::string_view, 2> traffic_memories{"host", "vram"};
/// Where in its memory a message is.
enum class TrafficAccess : std::uint8_t { sequential, uniform, zipf };
inline constexpr std::array<std::string_view, 3> traffic_accesses{"sequential", "uniform", "zipf"};
enum class TrafficArrivals : std::uint8_t { poisson, fixed };
inline constexpr std::array<std::string_view, 2> traffic_arrivals{"poisson", "fixed"};

struct TrafficConfig {
    TrafficPattern pattern = TrafficPattern::pairs;
    TrafficDirection direction = TrafficDirection::one_way;
    std::string from, to;        ///< HCAs or hosts: "A..D", "A.hca0, B.hca1"; empty: of all hosts
    std::string replay;          ///< file of messages: time, from, to, verb, size; empty: none
    std::string verbs = "write"; ///< "write:70, read:30"
    std::string sizes;           ///< "4 KiB", "64 B, 1 MiB", "64 B..4 KiB:90, 1 MiB:10"; empty: scenario.message
    std::uint64_t inline_bytes = 0;
    bool has_blue_flame = false;
    std::uint32_t batch = 1, signal_every = 1, cores = 1;
    TrafficOrder order = TrafficOrder::round_robin;
    std::uint32_t reads = 16, ack_timeout = 14, retry_count = 7;
    TrafficMemory memory = TrafficMemory::host, remote_memory = TrafficMemory::host;
    std::uint32_t regions = 1;
    std::uint64_t region_bytes = 0; ///< 0: as much as the messages under way need
    std::uint64_t page_bytes = 4096;
    TrafficAccess access = TrafficAccess::sequential;
    double zipf = 0.99;
    std::uint32_t counters = 1;       ///< of atomics, a queue pair
    std::uint32_t counter_stride = 8; ///< bytes
    double rate = 0;                  ///< messages a second, a flow; 0: closed loop
    TrafficArrivals arrivals = TrafficArrivals::poisson;
    std::uint64_t warm_up_messages = 0, messages = 10'000;
    model::port::Time warm_up{}, duration{};
    model::port::Time join{}, stay{}; ///< from one flow's begin to the next one's; of a flow, 0: for ever
    std::uint32_t intervals = 16;
    bool verifies = true;
};

} // namespace platform::topology

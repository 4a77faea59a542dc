// What a workload found out. The program prints it and writes it as JSON; tests and measurements read its members.
#pragma once

#include "platform/observe/count/queues.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario {

/// One pass of the payload: by WRITE, by READ, by SEND.
struct Transfer {
    std::string name{};          ///< "WRITE A -> B"
    bool verified = false;       ///< the target's bytes have the source's SHA-256
    std::string sha256_target{}; ///< empty when the pass did not come to its end
    std::uint64_t bytes = 0, messages = 0, packets = 0;
    std::uint64_t completions_ok = 0, completions_error = 0;
    std::uint64_t retries = 0, timeouts = 0, rnr_waits = 0, naks = 0;
    std::int64_t sim_time_ps = 0;
    double wall_seconds = 0;
    std::string bottleneck{}; ///< "A.hca PCIe upstream"; "latency": every resource had time to spare; empty: not known
    double load = 0;          ///< share of the pass that the busiest resource was at work, in 0 to 1
};

/// One direction pair of a PCIe link; "up" is towards the root complex.
struct PcieLink {
    std::string name{}; ///< "A.gpu"
    std::uint64_t tlps_up = 0, tlps_down = 0;
    std::uint64_t bytes_up = 0, bytes_down = 0;     ///< on the link, with headers and DLLPs
    std::uint64_t payload_up = 0, payload_down = 0; ///< data of the TLPs
    std::int64_t busy_up_ps = 0, busy_down_ps = 0;  ///< occupied by TLPs
};

struct Cache {
    std::string name{}; ///< "A.hca MKey"
    std::uint64_t hits = 0, misses = 0;
};

/// A resource that decides times of a device: what a model/time vocabulary counts of it.
struct Resource {
    std::string name{};   ///< "A.nvme0 dies"
    std::string device{}; ///< "A.nvme0"
    std::string kind{};   ///< "server", "line", "window"
    unsigned units = 1;   ///< that can be busy at the same time
    std::uint64_t uses = 0, bytes = 0;
    std::int64_t busy_ps = 0;                        ///< summed over the units
    std::int64_t waited_ps = 0, longest_wait_ps = 0; ///< summed over the users; of one of them
    double load = 0;                                 ///< share of the run that its units were busy, in 0 to 1
};

/// What holds a device back: the resource that was busiest, and what its requests waited for longest.
struct Bottleneck {
    std::string device{};     ///< "A.nvme0"
    std::string busiest{};    ///< "dies"
    double load = 0;          ///< of it
    std::string waited_for{}; ///< "dies"; empty: nobody waited
    std::int64_t waited_ps = 0;
};

/// One direction of the cable.
struct Wire {
    std::string name{}; ///< "A -> B"
    std::uint64_t packets = 0, bytes = 0;
    std::uint64_t lost = 0, duplicated = 0, reordered = 0, corrupted = 0;
    std::int64_t waited_ps = 0; ///< its line was idle for want of credit
};

/// A cable, or all cables of a switch, that broke while the platform ran.
struct BrokenCables {
    std::string name{};     ///< "leaf0.9 -- spine1.1", "spine0"
    std::int64_t at_ps = 0; ///< as configured
    std::optional<std::int64_t> until_ps{};
    std::uint64_t lost = 0;      ///< packets that were on the cables
    std::uint64_t discarded = 0; ///< that were to leave by them while they were broken, in all failures of a cable
};

/// One step of a scenario that has several: what became of it, and which way its bytes took.
struct Step {
    std::string name{};
    std::string ended_with{};  ///< what the requester was told
    std::string owner_heard{}; ///< the memory's side, of the queue pair's end; empty: nothing
    bool verified = false;
    std::uint64_t bytes = 0, landed = 0; ///< asked for; arrived, or arrived before the memory was taken back
    std::string sha256_source{}, sha256_target{};
    std::uint64_t direct_bytes = 0;     ///< payload between devices, through switches only
    std::uint64_t redirected_bytes = 0; ///< by way of a root complex
    std::uint64_t host_bytes = 0;       ///< from and to host memory
    struct Upstream {                   ///< all data on the link between switch and root complex, of host A and B
        std::uint64_t up = 0, down = 0;
    };
    std::array<Upstream, 2> upstream{};
    std::int64_t sim_time_ps = 0;
};

/// One row of the coherence laboratory: what was tried, and whether it went as it must.
struct Observation {
    std::string row{};      ///< "L3"
    std::string cites{};    ///< observations of the article that it repeats: "O6"; empty: of none
    std::string setup{};    ///< "SQ UC, CQ UC, doorbells as imported (UC)"
    std::string load{};     ///< modifiers of the polling load: "glc slc dlc"
    std::string flush{};    ///< what is done beside the program
    std::string outcome{};  ///< "stuck"
    std::string expected{}; ///< "stuck", or several: "stuck or wrong data"
    bool agrees = false;
    std::string explanation{}; ///< why, for a person; empty where all went well
};

/// How long messages took, from posted (in an open loop: from when they were to be posted) until their completion was
/// polled; of a ping-pong half of the time from one message to the next.
struct Latency {
    std::uint64_t samples = 0;
    double mean_ns = 0;
    std::int64_t least_ns = 0, p50_ns = 0, p90_ns = 0, p99_ns = 0, p999_ns = 0, most_ns = 0; ///< to within 1 %
};

/// Messages from one HCA to another, in the measured time.
struct FlowRow {
    std::string name{}; ///< "A.hca0 -> B.hca0"
    std::uint64_t messages = 0, bytes = 0;
    Latency latency{};
};

/// What an application has done in the measured time: operations of one kind, and how long one of them took whoever
/// takes part, from its begin to its end there.
struct Operation {
    std::string name{};      ///< "allreduce"; "GET"
    std::uint64_t count = 0; ///< of all who take part
    Latency latency{};
    std::int64_t elapsed_ps = 0;    ///< in which they were done
    std::uint64_t ranks = 0;        ///< who take part
    std::uint64_t bytes = 0;        ///< of one operation: a rank's data; of a GET or PUT the mean of the values
    double time_ns = 0;             ///< of the measured time for one; 0: nothing was measured
    double algorithm_bandwidth = 0; ///< bytes / time, bytes a second; 0: of no collective
    double bus_bandwidth = 0;       ///< that of each rank's port which it is proportional to; 0: not defined
    std::uint64_t repeated = 0;     ///< done again: values that changed while they were read
};

/// What flows that were there all the time got of an interval.
struct Shares {
    std::uint64_t flows = 0;
    std::uint64_t least = 0, most = 0; ///< bytes of one of them
    double fairness = 0;               ///< Jain's index, in 1/flows to 1
};

/// A part of the measured time.
struct Interval {
    std::int64_t begin_ps = 0, end_ps = 0; ///< of simulated time
    std::uint64_t messages = 0, bytes = 0;
    Latency latency{};
    std::uint64_t retries = 0, timeouts = 0, rnr_waits = 0, naks = 0, packets_dropped = 0;
    std::uint64_t packets_marked = 0, cnps = 0, window_cuts = 0, pauses = 0, switch_drops = 0;
    std::int64_t window_waits_ps = 0;            ///< of all queue pairs, held back by their congestion windows
    std::optional<std::int64_t> round_trip_ps{}; ///< mean of those that cards have measured for such windows
    std::int64_t credit_waits_ps = 0;            ///< of all cables, idle for want of credit
    std::optional<Shares> shares{}; ///< none: no flow was there all the time, or there are too many to follow
    std::string bottleneck{};       ///< "latency": every resource had time to spare
    double load = 0;                ///< share of it that the busiest resource was at work, in 0 to 1
};

/// A resource that was the bottleneck of intervals, and for how long all in all.
struct HeldBack {
    std::string name{};
    std::int64_t time_ps = 0;
};

/// What a load has done in the time that was measured.
struct TrafficRow {
    std::uint64_t messages = 0, bytes = 0;
    std::int64_t begin_ps = 0, elapsed_ps = 0;
    Latency latency{};
    double fairness = 0; ///< Jain's index of the flows' bytes, in 1/flows to 1
    /// From when the last flow has joined until each had an equal share, to 10 %, in every interval from then on until
    /// one leaves. None: they never had.
    std::optional<std::int64_t> settled_ps{};
    std::uint64_t offered = 0, unposted = 0; ///< of an open loop, the warm-up included
    /// Of an end of the measured time queue pairs may have done what they have not told yet: so much of the rates at
    /// most, as a share of them. None: operations are measured, whose ends are told.
    std::optional<double> rate_error{};
    std::uint64_t checked = 0; ///< messages whose bytes were looked at where they had arrived
    std::uint64_t retries = 0, timeouts = 0, rnr_waits = 0, naks = 0, packets_dropped = 0;
    std::uint64_t packets_marked = 0, cnps = 0, window_cuts = 0, pauses = 0, switch_drops = 0;
    std::int64_t window_waits_ps = 0;
    std::optional<std::int64_t> round_trip_ps{};
    std::int64_t credit_waits_ps = 0;
    std::string bottleneck{};
    double load = 0;
    bool is_open_loop = false;
};

struct Result {
    std::string scenario{};
    bool verified = false; ///< everything that was to arrive did, and nothing else changed
    std::string failure{}; ///< why not, for a person: what went wrong first; empty when verified
    std::string advice{};  ///< what to do about it; empty when verified
    std::string stopped{}; ///< who ended the run before its programs did: "interrupted (SIGINT)"; empty: nobody
    std::string found{};   ///< what a device has said of itself; empty: nobody asked
    std::string way{};     ///< how devices of a host reach each other; empty: nobody looked
    std::uint64_t payload_bytes = 0;
    std::string sha256_source{}, sha256_target{};
    std::uint64_t completions_ok = 0, completions_error = 0;
    std::uint64_t p2p_payload_bytes = 0;        ///< payload that went between devices through the switch
    std::uint64_t redirected_payload_bytes = 0; ///< payload that went between devices by way of the root complex
    std::uint64_t host_dram_payload_bytes = 0;  ///< payload that touched host memory
    std::uint64_t wire_packets = 0;
    std::uint64_t retries = 0, timeouts = 0, rnr_waits = 0, naks = 0, duplicates = 0, packets_dropped = 0;
    std::int64_t sim_time_ps = 0;
    double wall_seconds = 0;
    std::string event_digest{}; ///< of all events; empty when nobody computed it

    std::optional<TrafficRow> traffic{};
    std::vector<Operation> operations{};
    std::vector<FlowRow> flows{};
    std::vector<Interval> intervals{};
    std::vector<HeldBack> held_back{}; ///< the longest first
    std::vector<Step> steps{};
    std::vector<Observation> laboratory{};
    std::vector<Transfer> transfers{};
    std::vector<PcieLink> pcie_links{};
    std::vector<Cache> caches{};
    std::vector<Resource> resources{};
    std::vector<Bottleneck> bottlenecks{}; ///< of each device whose resources were used
    std::vector<Wire> wires{};
    std::vector<BrokenCables> failures{};
    platform::observe::count::QueueReport queues{}; ///< empty when nobody counted them
};

} // namespace scenario

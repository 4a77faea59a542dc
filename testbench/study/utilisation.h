// What of a run's result a page shows beside metrics: which resource held each transfer up, how busy devices and links
// were, and how the events lie in simulated time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace study {

struct Utilisation {
    struct Share {
        std::string name{}; ///< "A.hca ICM misses"
        double share = 0;   ///< of the simulated time of all transfers, in 0 to 1
    };
    /// Of the measured time, or of the transfers' where a scenario has these: by the resource that was busiest. Largest
    /// first.
    std::vector<Share> bottlenecks{};
    struct Load {
        std::string name{}; ///< "A.hca ICM misses", "A.upstream PCIe up"
        std::string part{}; ///< "A.hca", "A.upstream", "wire"
        double load = 0;    ///< share of the run that it was busy, in 0 to 1
    };
    std::vector<Load> loads{}; ///< in the order of the result
    /// Simulated time in ns, and how many events there were until then.
    std::vector<std::pair<double, std::uint64_t>> events{};
    /// A part of the measured time, of a scenario that has some.
    struct Interval {
        double begin_ns = 0, end_ns = 0;
        double rate_bytes_per_second = 0;
        std::optional<double> p50_ns{}, p99_ns{}; ///< latencies; nothing: no message was done in it
        std::string bottleneck{};
    };
    std::vector<Interval> intervals{};
};

/// Of a result as a store has it. Throws where it is no JSON.
Utilisation utilisation_of(const std::string& result);

} // namespace study

// How long things took, counted one by one: what a row of a result says of it.
#pragma once

#include "model/port/time.h"
#include "testbench/scenario/result.h"
#include "traces/tool/histogram.h"

namespace scenario {

class LatencyCount {
public:
    void add(model::port::Time took) {
        took_ns_ += static_cast<double>(took.count()) / 1000;
        histogram_.add((took.count() + 500) / 1000);
    }
    LatencyCount& operator+=(const LatencyCount& other) {
        took_ns_ += other.took_ns_;
        histogram_ += other.histogram_;
        return *this;
    }
    std::uint64_t count() const { return histogram_.count(); }
    Latency summary() const {
        if (count() == 0)
            return {};
        return {.samples = count(),
                .mean_ns = took_ns_ / static_cast<double>(count()),
                .least_ns = histogram_.least(),
                .p50_ns = histogram_.percentile(50),
                .p90_ns = histogram_.percentile(90),
                .p99_ns = histogram_.percentile(99),
                .p999_ns = histogram_.percentile(99.9),
                .most_ns = histogram_.most()};
    }

private:
    double took_ns_ = 0; ///< together
    traces::tool::Histogram histogram_;
};

} // namespace scenario

// How long things took, counted one by one: what a row of a result says of it.
#pragma once

#include "model/port/time.h"
#include "platform/ranks/bytes.h"
#include "testbench/scenario/result.h"
#include "traces/tool/histogram.h"

#include <cstdint>
#include <utility>

namespace scenario {

class LatencyCount {
public:
    void add(model::port::Time took) {
        took_ns_ += static_cast<std::uint64_t>(took.count() / 1000);
        took_ps_ += static_cast<std::uint64_t>(took.count() % 1000);
        histogram_.add((took.count() + 500) / 1000);
    }
    LatencyCount& operator+=(const LatencyCount& other) {
        took_ns_ += other.took_ns_;
        took_ps_ += other.took_ps_;
        histogram_ += other.histogram_;
        return *this;
    }
    std::uint64_t count() const { return histogram_.count(); }
    Latency summary() const {
        if (count() == 0)
            return {};
        return {.samples = count(),
                .mean_ns = (static_cast<double>(took_ns_) + static_cast<double>(took_ps_) / 1000) /
                           static_cast<double>(count()),
                .least_ns = histogram_.least(),
                .p50_ns = histogram_.percentile(50),
                .p90_ns = histogram_.percentile(90),
                .p99_ns = histogram_.percentile(99),
                .p999_ns = histogram_.percentile(99.9),
                .most_ns = histogram_.most()};
    }

    void put(platform::ranks::Writer& writer) const {
        writer.put(took_ns_), writer.put(took_ps_), writer.put(histogram_.least()), writer.put(histogram_.most());
        const auto& [first, counts] = histogram_.parts();
        writer.put(first), writer.put(static_cast<std::uint32_t>(counts.size()));
        for (const auto count : counts)
            writer.put(count);
    }
    static LatencyCount get(platform::ranks::Reader& reader) {
        LatencyCount made;
        made.took_ns_ = reader.get<std::uint64_t>(), made.took_ps_ = reader.get<std::uint64_t>();
        const auto least = reader.get<std::int64_t>(), most = reader.get<std::int64_t>();
        traces::tool::Histogram::Parts parts{.first = reader.get<std::uint32_t>(), .counts = {}};
        for (auto left = reader.get<std::uint32_t>(); left != 0 && reader.is_good(); --left)
            parts.counts.push_back(reader.get<std::uint64_t>());
        made.histogram_ = traces::tool::Histogram::made_of(std::move(parts), least, most);
        return made;
    }

private:
    // Together; whole numbers, whose sum does not depend on their order.
    std::uint64_t took_ns_ = 0, took_ps_ = 0;
    traces::tool::Histogram histogram_;
};

} // namespace scenario

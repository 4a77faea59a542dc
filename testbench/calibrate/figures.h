// What rows measure, made of traffic: rates, latencies, and how two of them compare.
#pragma once

#include "testbench/calibrate/row.h"
#include "testbench/calibrate/traffic.h"

#include <functional>
#include <string_view>
#include <vector>

namespace calibrate {

using Measure = std::function<Figure(const Profile&)>;
using Keys = std::vector<std::string_view>; ///< "key=value", set beside the profile's

/// Throws std::runtime_error when it has failed.
Measured measured(const Profile& profile, const Traffic& traffic, const Keys& keys = {});

/// One figure of a measurement, times `scale`, with its bottleneck.
Measure one(Traffic traffic, double Measured::* figure, double scale = 1, Keys keys = {});
inline Measure mega_messages(Traffic traffic, Keys keys = {}) {
    return one(traffic, &Measured::messages_per_s, 1e-6, std::move(keys));
}
inline Measure gigabits(Traffic traffic, Keys keys = {}) {
    return one(traffic, &Measured::bytes_per_s, 8e-9, std::move(keys));
}
inline Measure microseconds(Traffic traffic, Keys keys = {}) {
    return one(traffic, &Measured::latency_ns, 1e-3, std::move(keys));
}

/// The first divided by the second, or less the second, with the bottleneck of the first.
Measure ratio(Measure first, Measure second);
Measure difference(Measure first, Measure second);

} // namespace calibrate

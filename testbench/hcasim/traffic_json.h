// What a load has done, as lists of a result's JSON: "traffic" (the sum, or nothing), "operations" of an
// application, "flows", "intervals" and "held_back".
#pragma once

#include "platform/observe/files/json.h"
#include "testbench/scenario/result.h"

#include <cstdint>
#include <limits>

namespace hcasim {

/// Becomes null: a rate when no time has passed, a latency of no messages.
inline constexpr double json_null = std::numeric_limits<double>::quiet_NaN();
double per_second(std::uint64_t count, std::int64_t picoseconds);

void append_traffic(platform::observe::files::JsonObject& json, const scenario::Result& result);

} // namespace hcasim

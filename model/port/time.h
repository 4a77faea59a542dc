// Simulated time as the cores see it: picoseconds since the start of the simulation.
#pragma once

#include <chrono>
#include <cstdint>

namespace model::port {

/// A point of simulated time, or a span of it. Picoseconds; 64 bits last 106 days.
using Time = std::chrono::duration<std::int64_t, std::pico>;

constexpr Time never = Time::max();

constexpr std::int64_t to_nanoseconds(Time t) { return t.count() / 1000; }

} // namespace model::port

#include "testbench/bench/room_cost.h"

#include <algorithm>
#include <chrono>

#include <x86intrin.h>

namespace bench {

namespace {
constexpr unsigned calibration_rounds = 200'000;
}

RoomCost::RoomCost() {
    const auto wall = std::chrono::steady_clock::now();
    const auto ticks = __rdtsc();
    while (std::chrono::steady_clock::now() - wall < std::chrono::milliseconds{20}) {
    }
    const auto ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - wall).count();
    ns_per_tick_ = ns / static_cast<double>(__rdtsc() - ticks);
    probe_ns_ = measure_probe();
    restart();
}

/// What one event costs that does nothing but be clocked: making it, the call, the reading.
double RoomCost::measure_probe() {
    const traces::Events events{this, 0};
    const auto begin = __rdtsc();
    for (unsigned i = 0; i < calibration_rounds; ++i)
        events.emit(std::chrono::duration<std::int64_t, std::pico>{i}, traces::QueueScheduled{i});
    return static_cast<double>(__rdtsc() - begin) * ns_per_tick_ / calibration_rounds;
}

void RoomCost::on(const traces::Stamp&, const traces::Event& event) {
    const auto now = __rdtsc();
    ticks_[event.index()] += now - last_;
    ++counts_[event.index()];
    last_ = now;
}

void RoomCost::restart() {
    ticks_ = {};
    counts_ = {};
    begin_ = last_ = __rdtsc();
}

RoomCosts RoomCost::result(std::uint64_t messages) const {
    RoomCosts costs;
    costs.probe_ns = probe_ns_;
    const auto n = static_cast<double>(std::max<std::uint64_t>(1, messages));
    for (std::size_t i = 0; i < event_types; ++i) {
        const auto spent = static_cast<double>(ticks_[i]) * ns_per_tick_ - static_cast<double>(counts_[i]) * probe_ns_;
        costs.nanoseconds[i] = std::max(0.0, spent) / n;
        costs.events[i] = static_cast<double>(counts_[i]) / n;
        costs.total_ns += costs.nanoseconds[i];
    }
    return costs;
}

} // namespace bench

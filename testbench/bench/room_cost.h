// What a message costs in each room: a sink of the rooms' events that reads the processor's time-stamp counter at each
// of them and books the time since the one before on the room that speaks. The clock's own cost is measured and taken
// off.
#pragma once

#include "traces/events.h"

#include <array>
#include <cstdint>
#include <variant>

namespace bench {

inline constexpr std::size_t event_types = std::variant_size_v<traces::Event>;

/// Plain numbers, so that they cross a process boundary.
struct RoomCosts {
    std::array<double, event_types> nanoseconds{}; ///< a message, by event type
    std::array<double, event_types> events{};      ///< a message
    double total_ns = 0;                           ///< a message, the clock's cost taken off
    double probe_ns = 0;                           ///< cost of one reading that was taken off
};

class RoomCost final : public traces::Sink {
public:
    RoomCost();
    void on(const traces::Stamp& stamp, const traces::Event& event) override;
    /// Forgets everything so far: the warm-up is over.
    void restart();
    RoomCosts result(std::uint64_t messages) const;

private:
    double measure_probe();

    std::array<std::uint64_t, event_types> ticks_{}, counts_{};
    std::uint64_t last_ = 0, begin_ = 0;
    double ns_per_tick_ = 0, probe_ns_ = 0;
};

} // namespace bench

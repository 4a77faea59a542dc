// When cables of a platform break and are whole again, and when the switches go by it: a subnet manager, or the routing
// protocol of Ethernet switches, learns of a change, finds other ways and has them written into the tables. That takes
// `reroute` after each change, whatever the fabric's size. Knows no cables and no switches.
#pragma once

#include "model/port/clock.h"
#include "platform/topology/description.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace platform::topology {

/// Packets that a failure has cost.
struct FailureCosts {
    std::uint64_t lost = 0;      ///< on a cable when it broke
    std::uint64_t discarded = 0; ///< that were to leave by a cable while it was broken
};

class Failures {
public:
    struct Change {
        std::size_t cable;
        bool is_broken;
        model::port::Time at;
        bool operator==(const Change&) const = default;
    };
    using Reroute = std::function<void(const std::vector<bool>& is_dead)>;

    /// `reroute` after each change `on_reroute` is called with what is broken at that moment.
    Failures(const Description& platform, model::port::Time reroute, model::port::Clock& clock, Reroute on_reroute);

    /// The failures count from `origin` on. Returns what happens to cables, in the order of its times; what is broken
    /// by two failures is whole when both are over.
    std::vector<Change> begin(model::port::Time origin);
    /// The clock's answer to wake_at().
    void wake(model::port::Time now);

private:
    const Description& platform_;
    model::port::Time reroute_;
    model::port::Clock& clock_;
    Reroute on_reroute_;
    std::vector<Change> changes_;
    std::vector<model::port::Time> sweeps_; ///< when tables are written, in order
    std::size_t next_sweep_ = 0;
};

} // namespace platform::topology

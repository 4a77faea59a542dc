// Counts the messages of a measuring workload: notices when the warm-up is over, and when the window is, and takes what
// the resources have counted at both times.
#pragma once

#include "testbench/calibrate/traffic.h"
#include "testbench/calibrate/window.h"
#include "testbench/scenario/busiest.h"

#include <cstdint>
#include <vector>

namespace calibrate {

class Meter {
public:
    Meter(platform::topology::Platform& platform, const Traffic& traffic) : platform_(platform), traffic_(traffic) {}

    /// So many messages are done, which have taken so long together.
    void add(std::uint64_t messages, model::port::Time took);
    /// A core was at work for so long, and not waiting.
    void add_work(model::port::Time span) { work_ += span; }
    bool is_over() const { return is_over_; }
    const Measured& measured() const { return measured_; }

private:
    struct Moment {
        model::port::Time at{}, work{}, took{};
        std::uint64_t messages = 0, context_misses = 0;
        std::uint64_t downstream_bytes = 0, upstream_bytes = 0;
        std::vector<scenario::Counted> resources{};
    };
    Moment look() const;
    void finish();

    platform::topology::Platform& platform_;
    const Traffic traffic_;
    std::uint64_t messages_ = 0;
    model::port::Time took_{}, work_{};
    bool has_begun_ = false, is_over_ = false;
    Moment begin_;
    Measured measured_;
};

} // namespace calibrate
